import { randomBytes } from 'node:crypto'
import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { transactionKey } from '@tributary/domain/event-key'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../../src/event-writer.ts'
import { transactionSweep } from '../../src/money/sweep-transactions.ts'

const topic = topics.eventsAccepted.name
const noon = Date.UTC(2026, 0, 2, 12)

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

interface Sent {
  app_id: string
  partition: number
  offset: number
  install?: string
  source?: Envelope['source']
  received_at_ms?: number
  events: Envelope['events']
}
const purchase = (revenue: number, more: Record<string, unknown> = {}) => ({
  event_id: randomBytes(8).toString('hex'),
  event_name: 'purchase',
  event_ts_ms: noon,
  transaction_id: 't1',
  revenue,
  ...more,
})

/** One batch of one record through the event-writer, as often as the test says. */
async function write(
  { app_id, partition, offset, install = 'i', source = 'sdk', received_at_ms = noon, events }: Sent,
  over: Partial<Clickhouse> = {},
) {
  const envelope: Envelope = {
    ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source, install_uuid: install, received_at_ms },
    ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events },
  }
  const record = { topic, partition, offset, timestamp_ms: noon, key: null, headers: {} } as unknown as LogRecord
  const registry = new Registry()
  const writer = eventWriter({ clickhouse: { ...clickhouse, ...over }, registry })
  await writer.handle({
    topic,
    partition,
    source: topic,
    from: offset,
    to: offset,
    token: `${app_id}/${partition}/${offset}`,
    records: [{ record, value: writer.decode(Buffer.from(JSON.stringify(envelope)), record, topic) }],
    repeated: false,
    tries: 1,
    tombstones: noTombstones,
    begun: 1,
    state: undefined,
    keep() {},
    async fence() {},
    dead() {},
    dropped() {},
    written() {},
    signal: new AbortController().signal,
  })
  const { values } = (await registry.getSingleMetric('tributary_event_writer_cancelled_total')?.get()) ?? { values: [] }
  return values[0]?.value
}

/** Counted events and their money by name, as a report sees them: what counts less what was taken back. */
async function sums(app_id: string) {
  const rows = await clickhouse.query<{ event_name: string; n: number; micros: number }>(
    `SELECT event_name, toUInt32(sum(n)) AS n, toInt64(sum(micros)) AS micros FROM (
       SELECT event_name, sum(events) AS n, sum(revenue_micros) AS micros FROM events_per_day_v1
       WHERE app_id = {app_id:String} GROUP BY event_name
       UNION ALL
       SELECT event_name, toUInt64(0), -sum(toInt128(amount_micros)) FROM revenue_cancelled_v1 FINAL
       WHERE app_id = {app_id:String} GROUP BY event_name)
     GROUP BY event_name ORDER BY event_name`,
    { app_id },
  )
  return rows.map(({ event_name, n, micros }) => [event_name, n, micros / 1e6])
}
const newAppId = () => `app_${randomBytes(10).toString('hex')}`

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
