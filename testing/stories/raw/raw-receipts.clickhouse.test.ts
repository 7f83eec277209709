import { text } from 'node:stream/consumers'
import { genuine, nothing, withReason } from '@tributary/domain/receipt/judgement'
import { rawSql } from '@tributary/tables/raw/raw-sql'
import { sealVerdicts } from '@tributary/tables/raw/seal'
import { dropAbandonedVerdicts, pinVerdicts } from '@tributary/tables/raw/verdict-stamps'
import { judgeMoney } from '@tributary/tables/receipts/choose-money'
import type { EventPlace } from '@tributary/tables/receipts/event-places'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import { openFakeStores } from '@tributary/testing/stores/fake-stores'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authority, type ReceiptStage, receiptStage, t0 } from '../receipts/receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

type Row = Record<'event_id' | 'verdict' | 'reason' | 'stored_at_ms', string>

/** Pulls window after window, as a client does, and keeps the last row of each event. */
function reader({ app_id, pool }: ReceiptStage) {
  let since_ms = 0
  const newest = new Map<string, Row>()
  return {
    async pull() {
      const { complete_until_ms: until_ms } = await sealVerdicts(pool, app_id)
      expect(until_ms).toBeGreaterThanOrEqual(since_ms)
      const sql = rawSql('receipts', { app_id, since_ms, until_ms })
      const { signal } = new AbortController()
      const lines = await text(await clickhouse.stream(sql, { format: 'JSONEachRow', signal }))
      for (const line of lines.split('\n').filter(Boolean)) {
        const row = JSON.parse(line) as Row
        expect(Number(row.stored_at_ms)).toBeGreaterThan(Number(newest.get(row.event_id)?.stored_at_ms ?? 0))
        newest.set(row.event_id, row)
      }
      since_ms = until_ms
      return until_ms
    },
    verdicts: () => [...newest.values()].map(named).toSorted(),
  }
}

const named = ({ event_id, verdict, reason }: Pick<Row, 'event_id' | 'verdict' | 'reason'>): string =>
  [event_id, verdict, reason].join(' ').trim()

const jws = (id: string) => ({
  store: 'apple',
  jws: authority.sign(appleTransaction({ transactionId: id, originalTransactionId: id })),
})
const purchase = (event_id: string, receipt: object) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, revenue: 5, currency: 'EUR', props: { receipt } },
})

test.each([[[]], [[2]], [[3, 7]], [[4, 5, 6, 8]], [[1, 2, 3, 4]]])(
  'a reader that goes on from window to window has the newest verdict on each event, killed at %j',
  async (kills) => {
    let is_away = true
    const { apple, close } = await openFakeStores()
    await close()
    const stage = await receiptStage({
      ...{ clickhouse, postgres, url: 'https://store.example', credentials: { apple } },
      ask: async (url) => {
        const id = url.slice(url.lastIndexOf('/') + 1)
        const transaction = appleTransaction({ transactionId: id, originalTransactionId: id })
        const said = { signedTransactionInfo: authority.sign(transaction) }
        return is_away ? { status: 503, text: '' } : { status: 200, text: JSON.stringify(said) }
      },
    })
    const raw = reader(stage)
    let pulling = Promise.resolve(0)
    const run = async () => {
      await stage.run([...kills], () => {
        pulling = pulling.then(() => raw.pull())
      })
      await pulling
      await raw.pull()
    }
    await stage.send('i-1', 'sdk', [
      purchase('a', jws('101')),
      purchase('b', { store: 'apple', app_receipt: authority.appReceipt(['102']) }),
    ])
    await stage.send('i-2', 'sdk', [purchase('c', { store: 'apple', jws: 'no' })])
    await run()
    expect(raw.verdicts()).toEqual(['a valid', 'b unverified store_away', 'c invalid malformed'])
    await stage.send('i-2', 'sdk', [purchase('d', jws('103'))])
    is_away = false
    stage.rest(120_000)
    await stage.wake()
    await run()
    // Verdicts that are found again, and ones that a rest of the store cannot take back.
    is_away = true
    stage.restart()
    stage.readAgain()
    await run()
    expect(raw.verdicts()).toEqual(['a valid', 'b valid', 'c invalid malformed', 'd valid'])
    expect(raw.verdicts()).toEqual((await stage.verdicts()).map(named).toSorted())
  },
)

test('verdicts that another process overtook are stored once more, and what comes late never holds', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [purchase('a', jws('101'))])
  await stage.run()
  const [place] = await clickhouse.query<EventPlace>(
    `SELECT toString(t.day) AS day, install_uuid, toString(t.event_key) AS event_key, topic, partition, offset FROM receipts_v1 AS t FINAL
     WHERE app_id = {app_id:String}`,
    { app_id: stage.app_id },
  )
  const raw = reader(stage)
  await raw.pull()
  const [refused, pending] = [withReason('apple', 'not_found'), withReason('apple', 'wrong_product')]
  const confirmed = genuine('apple', 'valid', { ...nothing, transaction_id: '101', original_id: '101' })
  // It loses its lock and stands still before it stores, while another one judges and a reader reads.
  const slow = {
    ...stage.deps,
    clickhouse: {
      query: clickhouse.query,
      async command(...[sql, options]: Parameters<TestClickhouse['command']>) {
        if (sql.startsWith('INSERT INTO receipts_v1')) {
          await stage.pool.query(
            `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
             WHERE locktype = 'advisory' AND datname = current_database()`,
          )
          await judgeMoney(stage.deps, stage.app_id, [{ place: place!, judged: refused }])
          await raw.pull()
        }
        return clickhouse.command(sql, options)
      },
    },
  }
  await expect(judgeMoney(slow, stage.app_id, [{ place: place!, judged: pending }])).rejects.toThrow()
  await raw.pull()
  expect(raw.verdicts()).toEqual(['a invalid not_found'])
  expect((await stage.verdicts()).map(named)).toEqual(['a invalid not_found'])
  // The try that follows finds the row, and a store that is away now.
  await judgeMoney(stage.deps, stage.app_id, [{ place: place!, judged: withReason('apple', 'store_away') }], {
    again: true,
  })
  await raw.pull()
  expect(raw.verdicts()).toEqual(['a invalid not_found'])
  await judgeMoney(stage.deps, stage.app_id, [{ place: place!, judged: confirmed }])
  await raw.pull()
  expect(raw.verdicts()).toEqual(['a valid'])
  expect((await stage.verdicts()).map(named)).toEqual(['a valid'])
})

test('a stamp that a killed process left holds back its app alone, until it is older than any try', async () => {
  const [stage, other] = [await receiptStage({ clickhouse, postgres }), await receiptStage({ clickhouse, postgres })]
  const stamp = await pinVerdicts(stage.pool, stage.app_id)
  expect(await reader(stage).pull()).toBe(stamp)
  expect(await reader(other).pull()).toBeGreaterThan(stamp)
  await dropAbandonedVerdicts(stage.pool)
  expect(await reader(stage).pull()).toBe(stamp)
  await stage.pool.query('UPDATE verdict_stamps SET newest_ms = newest_ms - 3600000 WHERE app_id = $1', [stage.app_id])
  await dropAbandonedVerdicts(stage.pool)
  expect(await reader(stage).pull()).toBeGreaterThan(stamp)
})
