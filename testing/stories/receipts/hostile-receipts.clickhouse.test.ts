import { lateClaimsJoiner } from '@tributary/receipt-validator/join-late-claims'
import { addDue } from '@tributary/tables/receipts/due-receipts'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eraseInstall } from './erase-install.ts'
import { authority, type ReceiptStage, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const receiptOf = (transactionId: string, more: object = {}) => ({
  receipt: {
    store: 'apple',
    jws: authority.sign(appleTransaction({ transactionId, originalTransactionId: transactionId, ...more })),
  },
})
const purchase = (event_id: string, id: string, more: object = {}) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, transaction_id: id, revenue: 3, currency: 'USD' },
  ...{ props: receiptOf(id), ...more },
})
const amounts = async (stage: ReceiptStage) =>
  (await stage.counted()).map(({ install_uuid, event_name, amount }) => `${install_uuid} ${event_name} ${amount}`)

test.each([
  ['of another name', () => ({ event_name: 'foo', props: {} })],
  ['that is a refund', () => ({ event_name: 'purchase_refunded', props: {} })],
  ['of the same name without a receipt', () => ({ props: {} })],
  [
    'with a receipt that nobody could verify',
    (id: string) => ({ props: { receipt: { store: 'apple', app_receipt: authority.appReceipt([id]) } } }),
  ],
])('erasing a claim %s takes no confirmed purchase of another install away, earlier or later', async (_which, evil) => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('evil-1', 'sdk', [purchase('b', '101', { revenue: 0.01, ...evil('101') })])
  await stage.send('evil-1', 'sdk', [purchase('c', '102', { revenue: 0.01, ...evil('102') })])
  await stage.run()
  await stage.send('honest', 'sdk', [purchase('a', '101')])
  await stage.run()
  stage.advance(1000)
  await eraseInstall(stage, 'evil-1')
  stage.advance(1000)
  await stage.send('evil-2', 'sdk', [
    purchase('d', '101', { ...evil('101'), props: receiptOf('101'), event_ts_ms: stage.now() }),
  ])
  await stage.send('honest', 'sdk', [purchase('e', '102', { event_ts_ms: stage.now() })])
  await stage.run()
  const honest = (await amounts(stage)).filter((one) => one.startsWith('honest'))
  expect(honest).toEqual(['honest purchase 4.99', 'honest purchase 4.99'])
})

test('a number beyond 64 bits in props does not lose the money of a transaction', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('backend', 's2s', [purchase('s', '101', { props: {} })])
  await stage.send('phone', 'sdk', [purchase('a', '101', { props: { ...receiptOf('101'), n: 100000000000000000000 } })])
  await stage.run()
  expect(await amounts(stage)).toEqual(['phone purchase 4.99'])
})

test('an event of a phone does not keep the refund of a store away, of which a part is subtracted where a part was paid back', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i', 'sdk', [{ event_id: 'refund-101', event_name: 'x', event_ts_ms: t0 }])
  const props = receiptOf('101', { revocationDate: t0, revocationPercentage: 50_000 })
  await stage.send('i', 'sdk', [purchase('a', '101', { props })])
  await stage.run()
  expect(await amounts(stage)).toEqual(['i purchase 4.99', 'i purchase_refunded -2.495'])
})

test('an app does not name the amount of a purchase by dating it before all rates', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  const props = receiptOf('101', { currency: 'EUR' })
  await stage.send('i', 'sdk', [purchase('a', '101', { props, revenue: 1e9, event_ts_ms: Date.UTC(2010, 0, 2) })])
  await stage.run()
  expect(await amounts(stage)).toEqual(['i purchase 4.99'])
})

test('claims of 50 000 names on one transaction are beaten, and keep no claim of another app away', async () => {
  const [evil, other] = [await receiptStage({ clickhouse, postgres }), await receiptStage({ clickhouse, postgres })]
  await evil.send('i', 'sdk', [purchase('a', '101')])
  await other.send('i', 'sdk', [purchase('a', '101')])
  await Promise.all([evil.run(), other.run()])
  const values = `'2026-06-02' AS day, 'evil' AS install_uuid, number AS event_key, 'USD' AS currency, 10000 AS amount_micros, number + 1 AS transaction_key,
    ${t0} AS received_at_ms, 't@l' AS topic, 0 AS partition, number AS offset, concat('n', toString(number)) AS event_name`
  const columns =
    'day, install_uuid, event_key, currency, amount_micros, transaction_key, received_at_ms, topic, partition, offset, event_name'
  await clickhouse.command(
    `INSERT INTO transaction_claims_v1 (app_id, claim_key, claim_rank, dated_at_ms, written_at_ms, ${columns})
     SELECT '${evil.app_id}', sipHash64('charge', '101'), 1, ${t0}, toUnixTimestamp64Milli(now64(3)), ${values} FROM numbers(50000)`,
  )
  await clickhouse.command(
    `INSERT INTO revenue_raw_v1 (app_id, ts_ms, claim_rank, ${columns}) SELECT '${evil.app_id}', ${t0}, 1, ${values} FROM numbers(50000)`,
  )
  const writer = await other.startWriter()
  await other.send('backend', 's2s', [purchase('s', '101', { props: {} })])
  await other.untilRead(['event-writer'])
  await writer.close()
  await other.join()
  expect(await amounts(other)).toEqual(['i purchase 4.99'])
  expect(await amounts(evil)).toEqual(['i purchase 4.99'])
})

test('a receipt of an app that PostgreSQL does not know stops no others', async () => {
  const added = await addDue(postgres.pool, [
    {
      ...{ app_id: 'app_gone', install_uuid: 'i', day: '2026-06-02', event_key: '1', topic: 't@l', partition: 0 },
      ...{ offset: 1, event_name: 'purchase', product_id: null, transaction_id: null, receipt: {}, asks: null },
      dated_at_ms: t0,
    },
  ])
  expect(added).toBe(0)
})

test('an install that is erased while its receipt is in hand stays out of purchases', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  const running = [await stage.startWriter(), await stage.startFinder()]
  await stage.send('i', 'sdk', [purchase('a', '101', { props: receiptOf('101', { revocationDate: t0 }) })])
  await stage.untilRead()
  for (const one of running) await one.close()
  stage.advance(1000)
  let is_erased = false
  const broker = {
    partitionCount: (topic: string) => stage.broker.partitionCount(topic),
    async publish(records: Parameters<typeof stage.broker.publish>[0]) {
      if (!is_erased) await eraseInstall(stage, 'i')
      is_erased = true
      await stage.broker.publish(records)
    },
  }
  await stage.judge({ broker })
  const { rows } = await postgres.pool.query('SELECT install_uuid FROM store_purchases WHERE app_id = $1', [
    stage.app_id,
  ])
  expect(is_erased).toBe(true)
  expect(rows).toEqual([{ install_uuid: null }])
})

test('the stamps that a kill of the joiner lost come again', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i', 'sdk', [purchase('a', '101')])
  await stage.run()
  const writer = await stage.startWriter()
  await stage.send('backend', 's2s', [purchase('s', '101', { props: {} })])
  await stage.untilRead(['event-writer'])
  await writer.close()
  await stage.join()
  await clickhouse.command(
    `DELETE FROM report_stamps_v1 WHERE app_id = '${stage.app_id}' SETTINGS lightweight_deletes_sync = 2`,
  )
  await lateClaimsJoiner(stage.deps)()
  const stamps = await clickhouse.query(
    `SELECT 1 FROM report_stamps_v1 WHERE app_id = '${stage.app_id}' AND source = 'money' AND rows > 0`,
  )
  expect(stamps.length).toBeGreaterThan(0)
})
