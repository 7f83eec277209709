import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { transactionKey } from '@tributary/domain/event-key'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transactionSweep } from '../../src/money/sweep-transactions.ts'
import { moneyStage, newAppId, noon, purchase, type Sent, topic } from './money-stage.ts'

let clickhouse: TestClickhouse
let write: ReturnType<typeof moneyStage>['write']
let sums: ReturnType<typeof moneyStage>['sums']
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  const stage = moneyStage(clickhouse)
  write = stage.write.bind(stage)
  sums = stage.sums
})
afterAll(() => clickhouse.close())

test('a phone cannot silence a backend: the money of the backend counts, whoever came first', async () => {
  // In one partition and over two.
  for (const [partition, backend] of (['s2s', 'bulk'] as const).entries()) {
    for (const order of [
      ['sdk', backend],
      [backend, 'sdk'],
    ] as const) {
      const app_id = newAppId()
      const claims = order.map((source) => ({ source, events: [purchase(source === 'sdk' ? 0 : 99.99)] }))
      await write({ app_id, partition: 0, offset: 0, ...claims[0]! })
      await write({ app_id, partition, offset: 1, received_at_ms: noon + 1, install: 'b', ...claims[1]! })
      expect(await sums(app_id)).toEqual([['purchase', 2, 99.99]])
    }
  }
})

test('among backends the claim that was received first counts, also where it is later in the log', async () => {
  for (const partition of [0, 1]) {
    const app_id = newAppId()
    await write({ app_id, partition: 0, offset: 0, source: 's2s', received_at_ms: noon + 1, events: [purchase(4.99)] })
    await write({ app_id, partition, offset: 1, source: 'bulk', install: 'b', events: [purchase(3.5)] })
    expect(await sums(app_id)).toEqual([['purchase', 2, 3.5]])
  }
})

test("claims of rows from before ranks are a backend's: no sum of theirs changes", async () => {
  const app_id = newAppId()
  await clickhouse.command(
    `INSERT INTO transaction_keys_v1 (app_id, transaction_key, day, received_at_ms, written_at_ms, topic, partition, offset)
     SELECT '${app_id}', ${transactionKey('purchase', 't1')}, '2026-01-02', ${noon - 1}, 0, '${topic}', 7, 0`,
  )
  await write({ app_id, partition: 0, offset: 0, source: 'bulk', events: [purchase(99)] })
  expect(await sums(app_id)).toEqual([['purchase', 1, 0]])
})

test('a refund of a transaction is told once too, beside its purchase; without an id all money counts', async () => {
  const app_id = newAppId()
  const refund = { event_name: 'purchase_refunded' }
  const events = [
    purchase(5),
    purchase(5, refund),
    purchase(-5, refund),
    purchase(1, { transaction_id: '' }),
    purchase(1, { transaction_id: null }),
  ]
  await write({ app_id, partition: 0, offset: 0, events })
  expect(await sums(app_id)).toEqual([
    ['purchase', 3, 7],
    ['purchase_refunded', 2, -5],
  ])
})

test('an event without money does not use its transaction up', async () => {
  const app_id = newAppId()
  await write({ app_id, partition: 0, offset: 0, events: [purchase(0, { revenue: null })] })
  await write({ app_id, partition: 0, offset: 1, events: [purchase(5)] })
  expect(await sums(app_id)).toEqual([['purchase', 2, 5]])
})

test('installs of two partitions: the sum is right when the batch is over, and the first to be received has it', async () => {
  const app_id = newAppId()
  await write({ app_id, partition: 0, offset: 0, install: 'a', received_at_ms: noon + 5, events: [purchase(4.99)] })
  expect(await write({ app_id, partition: 1, offset: 0, install: 'b', events: [purchase(3.5)] })).toBe(1)
  expect(await sums(app_id)).toEqual([['purchase', 2, 3.5]])
  expect(
    await write({ app_id, partition: 2, offset: 0, install: 'c', received_at_ms: noon + 1, events: [purchase(9)] }),
  ).toBe(1)
  expect(await sums(app_id)).toEqual([['purchase', 3, 3.5]])
  expect(await transactionSweep(clickhouse)()).toBe(0)
})

/** Two partitions that write at the same moment: neither sees the other. */
async function race(app_id: string, offset = 0) {
  const other = () =>
    write({ app_id, partition: 1, offset, install: 'b', received_at_ms: noon + 1, events: [purchase(3.5)] })
  await write(
    { app_id, partition: 0, offset, install: 'a', events: [purchase(4.99)] },
    {
      async insert(block) {
        await other()
        await clickhouse.insert(block)
      },
    },
  )
}

test('two partitions at the same moment are put right by the sweep, whoever and however many sweep', async () => {
  const app_id = newAppId()
  await race(app_id)
  expect(await sums(app_id)).toEqual([['purchase', 2, 8.49]])
  await Promise.all([transactionSweep(clickhouse)(), transactionSweep(clickhouse)(), transactionSweep(clickhouse)()])
  expect(await sums(app_id)).toEqual([['purchase', 2, 4.99]])
  expect(await transactionSweep(clickhouse)()).toBe(0)
  await clickhouse.command('OPTIMIZE TABLE revenue_cancelled_v1 FINAL')
  expect(await sums(app_id)).toEqual([['purchase', 2, 4.99]])
})

test('a sweep that runs on finds what was written since, and makes up for one that failed', async () => {
  let away = false
  const sweep = transactionSweep({
    ...clickhouse,
    async command(sql, options) {
      if (away) throw new Error('away')
      await clickhouse.command(sql, options)
    },
  })
  await sweep()
  const [one, other] = [newAppId(), newAppId()]
  await race(one)
  away = true
  await expect(sweep()).rejects.toThrow('away')
  await race(other)
  away = false
  expect(await sweep()).toBe(2)
  expect([await sums(one), await sums(other)]).toEqual([[['purchase', 2, 4.99]], [['purchase', 2, 4.99]]])
  expect(await sweep()).toBe(0)
})

test('a batch that comes again after another partition wrote makes the same rows, in every table', async () => {
  const app_id = newAppId()
  const batch: Sent = {
    app_id,
    partition: 0,
    offset: 0,
    install: 'a',
    received_at_ms: noon + 9,
    events: [purchase(4.99)],
  }
  const lost: Partial<Clickhouse> = {
    async insert(block) {
      await clickhouse.insert(block)
      throw new Error('the answer is lost')
    },
  }
  await expect(write(batch, lost)).rejects.toThrow('the answer is lost')
  await write({ app_id, partition: 1, offset: 0, install: 'b', events: [purchase(3.5)] })
  await write(batch)
  expect(await sums(app_id)).toEqual([['purchase', 2, 3.5]])
  const [stored] = await clickhouse.query(
    `SELECT (SELECT toUInt32(count()) FROM revenue_raw_v1 WHERE app_id = {app_id:String}) AS revenue,
       (SELECT toUInt32(count()) FROM transaction_keys_v1 WHERE app_id = {app_id:String}) AS claims`,
    { app_id },
  )
  expect(stored).toEqual({ revenue: 2, claims: 2 })
})

test('money of an erased install is not waited for', async () => {
  const app_id = newAppId()
  await race(app_id)
  await clickhouse.command(`DELETE FROM revenue_raw_v1 WHERE app_id = '${app_id}' AND install_uuid = 'b'`)
  expect(await transactionSweep(clickhouse)()).toBe(0)
})
