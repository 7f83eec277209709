import { consumers } from '@tributary/contracts/consumers'
import { readReceiptBacklog, takeDue } from '@tributary/tables/receipts/due-receipts'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { authority, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const day_ms = 86_400_000
const receipt = (id: string) => ({ store: 'apple', jws: authority.sign(appleTransaction({ transactionId: id })) })
const sale = (event_id: string, day = 0, of = receipt(event_id)) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0 + day * day_ms, revenue: 5 },
  props: { receipt: of },
})
const plain = (event_id: string, day = 0) => ({ ...sale(event_id, day), props: { level: 1 } })
const open = () => receiptStage({ clickhouse, postgres })

test('a receipt is due once its event is written, and not before', async () => {
  const stage = await open()
  await stage.send('i-1', 'sdk', [sale('1')])
  let looks = 0
  const { broker } = stage.deps
  stage.deps.broker = {
    ...broker,
    groupOffsets: (...args) => {
      looks += 1
      return broker.groupOffsets(...args)
    },
  }
  const finder = await stage.startFinder()
  await vi.waitFor(() => expect(looks).toBeGreaterThan(1))
  expect(await stage.due()).toEqual([])
  const writer = await stage.startWriter()
  await stage.untilRead()
  expect(await stage.due()).toHaveLength(1)
  await finder.close()
  await writer.close()
})

test('a duplicate is never judged, be it of another record, of the same one, of a neighbouring day, or of an event without a receipt', async () => {
  const stage = await open()
  await stage.send('i-1', 'sdk', [
    plain('1'),
    sale('1'),
    sale('2', 0, receipt('first')),
    sale('2'),
    sale('3', 0),
    sale('3', 1),
  ])
  await stage.send('i-1', 'sdk', [sale('1'), sale('2'), sale('3', 1)])
  await stage.send('i-2', 'sdk', [plain('1')])
  await stage.run()
  const rows = await stage.verdicts()
  expect(rows.map(({ event_id, day, install_uuid }) => [event_id, day, install_uuid])).toEqual([
    ['2', '2026-06-02', 'i-1'],
    ['3', '2026-06-02', 'i-1'],
  ])
  const ids = await clickhouse.query<{ transaction_id: string }>(
    'SELECT transaction_id FROM receipts_v1 FINAL WHERE app_id = {app_id:String} ORDER BY transaction_id',
    { app_id: stage.app_id },
  )
  expect(ids.map(({ transaction_id }) => transaction_id)).toEqual(['3', 'first'])
  // The money of the event without a receipt is what it says.
  expect((await stage.counted()).map(({ install_uuid, amount }) => [install_uuid, amount])).toEqual([
    ['i-1', 4.99],
    ['i-1', 4.99],
    ['i-1', 5],
    ['i-2', 5],
  ])
})

test('one event id on several days of one record is judged on each', async () => {
  const stage = await open()
  await stage.send('i-1', 'sdk', [
    sale('1', 0, receipt('101')),
    sale('1', 2, { store: 'apple', jws: 'none' }),
    sale('1', 4, receipt('102')),
  ])
  await stage.run()
  const rows = await stage.verdicts()
  expect(rows.map(({ day, verdict }) => [day, verdict])).toEqual([
    ['2026-06-02', 'valid'],
    ['2026-06-04', 'invalid'],
    ['2026-06-06', 'valid'],
  ])
  expect((await stage.counted()).map(({ amount }) => amount)).toEqual([4.99, 4.99])
})

test('a receipt is found however its name is written, and an event of a store by its envelope', async () => {
  const stage = await open()
  await stage.send('i-1', 'sdk', [sale('1')], t0, (json) => json.replace('"receipt"', '"\\u0072\\u0065ceipt"'))
  await stage.send('i-1', 'sdk', [sale('2')], t0, (json) => json.replace('"props"', '"pr\\u006fps"'))
  await stage.send('i-1', 'store', [{ ...plain('3'), transaction_id: '3' }])
  await stage.send('i-1', 'sdk', [plain('4'), { ...plain('5'), props: { receipt: null, what: 'receipt' } }])
  await stage.run()
  const rows = await stage.verdicts()
  expect(rows.map(({ event_id, verdict }) => `${event_id} ${verdict}`)).toEqual(['1 valid', '2 valid', '3 valid'])
})

test('a record that is read again adds nothing to what is due, and a receipt that was judged is judged once more', async () => {
  const stage = await open()
  await stage.send('i-1', 'sdk', [sale('1'), sale('2')])
  await stage.run()
  expect(await stage.due()).toEqual([])
  const counted = await stage.counted()
  stage.readAgain()
  const finder = await stage.startFinder()
  await stage.untilRead([consumers.receiptValidator.name])
  await finder.close()
  stage.readAgain()
  const again = await stage.startFinder()
  await stage.untilRead([consumers.receiptValidator.name])
  await again.close()
  expect(await stage.due()).toHaveLength(2)
  await stage.run()
  expect(await stage.counted()).toEqual(counted)
})

test('the backlog of `status` is what nobody has judged: a first try in hand counts, what waits for its store does not', async () => {
  const stage = await open()
  await postgres.pool.query('DELETE FROM due_receipts')
  const legacy = { store: 'apple', app_receipt: 'bm9uZQ==' }
  await stage.send('i-1', 'sdk', [sale('1'), sale('2', 0, legacy as never), sale('3')])
  const readers = [await stage.startWriter(), await stage.startFinder()]
  await stage.untilRead()
  for (const one of readers) await one.close()
  expect(await readReceiptBacklog(postgres.pool)).toMatchObject({ due: 3, unjudged: 3 })
  await takeDue(postgres.pool, { app_id: stage.app_id, max: 1, resting: [] })
  expect(await readReceiptBacklog(postgres.pool)).toMatchObject({ due: 3, unjudged: 3 })
  await postgres.pool.query(
    'UPDATE due_receipts SET lease = NULL, tried_from_ms = tried_from_ms - 60000 WHERE tries = 1',
  )
  const { due, unjudged, oldest_ms, oldest_unjudged_ms } = await readReceiptBacklog(postgres.pool)
  expect({ due, unjudged }).toEqual({ due: 3, unjudged: 2 })
  expect(oldest_ms).toBeGreaterThan(60_000)
  expect(oldest_unjudged_ms).toBeLessThan(oldest_ms!)
  await postgres.pool.query('DELETE FROM due_receipts')
  expect(await readReceiptBacklog(postgres.pool)).toEqual({
    due: 0,
    unjudged: 0,
    oldest_ms: null,
    oldest_unjudged_ms: null,
  })
})
