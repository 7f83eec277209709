import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { refillTables } from '@tributary/tables/repair/refill-tables'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authority, type ReceiptStage, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const day_ms = 86_400_000
const logger = pino({ level: 'silent' })
const stranger = createAppleAuthority()
const jws = (id: string, more: object = {}, by = authority) => ({
  store: 'apple',
  jws: by.sign(appleTransaction({ transactionId: id, originalTransactionId: id, ...more })),
})
const sale = (event_id: string, receipt: object | null, more: object = {}) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, revenue: 5, currency: 'USD' },
  ...(receipt !== null && { props: { receipt } }),
  ...more,
})

/** As those that receipts are priced with. */
const fxRates = {
  find: async () => (lookup: { currency: string }) => (lookup.currency === 'EUR' ? { usd: '1', units: '1' } : null),
}

/** Asks the reports of the app of a stage. */
async function openReports({ app_id, now }: ReceiptStage) {
  const tenant = buildTenant()
  tenant.key.app_id = app_id
  const app = createHttpApp({ logger })
  const around = { ...noPostbacks(), credentials: memoryCredentials([tenant]), keyValue: memoryKeyValue(now), now }
  await app.register(reportApi({ ...around, clickhouse, fxRates, registry: new Registry(), logger }))
  return {
    close: () => app.close(),
    async rows() {
      const window = `since_ms=${t0 - 5 * day_ms}&until_ms=${t0 + 10 * day_ms}`
      const ask = async (report: string) => {
        const headers = { authorization: `Bearer ${tenant.server_key}` }
        const answer = await app.inject({ url: `/api/v1/reports/${report}?${window}&limit=1000`, headers })
        expect(answer.statusCode, answer.body).toBe(200)
        return answer
          .json<{ rows: object[] }>()
          .rows.map((row) => JSON.stringify(row))
          .toSorted()
      }
      return { receipts: await ask('receipts'), revenue: await ask('revenue'), events: await ask('events') }
    },
  }
}

/** Events of all kinds of verdicts and claims are judged; `settle` runs what runs each minute. */
async function judgedStage() {
  const stage = await receiptStage({ clickhouse, postgres })
  // A crowd claims a purchase that a store confirms, each under a name of its own; more than choices look at.
  const crowd = Array.from({ length: 1010 }, (_, n) =>
    sale(`c${n}`, null, { event_name: `e${n}`, transaction_id: '101', revenue: 1 }),
  )
  await stage.send('crowd', 'sdk', crowd)
  await stage.send('i-1', 'sdk', [
    sale('1', jws('101')),
    sale('2', jws('102', { revocationDate: t0 + day_ms })),
    sale('3', jws('103', { environment: 'Sandbox' })),
    sale('4', jws('104', {}, stranger)),
    sale('5', { store: 'apple', app_receipt: authority.appReceipt(['105']) }),
    sale('6', jws('106', { currency: 'XXX' })),
  ])
  await stage.send('i-2', 'sdk', [sale('7', jws('101')), sale('8', null, { transaction_id: '107' })])
  await stage.send('i-2', 's2s', [sale('9', null, { transaction_id: '102', event_name: 'coins' }), sale('10', null)])
  await stage.send('i-3', 's2s', [sale('11', null, { transaction_id: '107', revenue: 9 })])
  stage.advance(3 * day_ms)
  await stage.run()
  const sweep = transactionSweep(clickhouse)
  const settle = async () => {
    await sweep()
    await stage.join()
  }
  await settle()
  const reports = await openReports(stage)
  const before = await reports.rows()
  expect(before.receipts).toHaveLength(7)
  expect((await stage.counted()).reduce((sum, { amount }) => sum + amount, 0)).toBeCloseTo(28.99)
  return { stage, settle, reports, before }
}

/** The log is read again, as a rebuild has it: all is judged once more. */
async function readAgain(stage: ReceiptStage) {
  stage.readAgain()
  stage.restart()
  // What waits for its store comes back at its next try.
  await stage.wake()
  await stage.run()
}

test.each<[string, string[]]>([
  ['money', ['revenue_raw_v1']],
  [
    'all of money and claims',
    ['revenue_raw_v1', 'transaction_keys_v1', 'transaction_claims_v1', 'receipts_by_claim_v1'],
  ],
])('reports of money and of receipts say the same once tables are filled again: %s', async (_what, tables) => {
  const { stage, settle, reports, before } = await judgedStage()
  await refillTables({ clickhouse, tables, logger })
  await settle()
  expect(await reports.rows()).toEqual(before)
  await readAgain(stage)
  await settle()
  expect(await reports.rows()).toEqual(before)
  await reports.close()
})

test('verdicts, and the money that they chose, come back with the log when they were lost', async () => {
  const { stage, settle, reports, before } = await judgedStage()
  for (const table of ['receipts_v1', 'receipts_by_claim_v1', 'revenue_chosen_v1'])
    await clickhouse.command(`TRUNCATE TABLE ${table}`)
  await refillTables({ clickhouse, tables: ['revenue_raw_v1'], logger })
  await settle()
  expect(await reports.rows()).not.toEqual(before)
  await readAgain(stage)
  await settle()
  expect(await reports.rows()).toEqual(before)
  await reports.close()
})
