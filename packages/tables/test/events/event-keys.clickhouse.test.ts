import { randomBytes, randomUUID } from 'node:crypto'
import { duplicateDays } from '@tributary/domain/event-key'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findEventKeys, type StoredEventKey } from '../../src/events/event-keys.ts'

const day_ms = 24 * 3600 * 1000
let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

type Key = Pick<StoredEventKey, 'app_id' | 'key_day' | 'event_key'>
const keyOf = ({ app_id, key_day, event_key }: Key): Key => ({ app_id, key_day, event_key })
const ask = ({ app_id, key_day, event_key }: Key, ...others: string[]) => ({
  app_id,
  event_key,
  key_days: [key_day, ...others],
})

test('a stored key is found with the log position that wrote it, on its own day and app alone', async () => {
  const app_id = randomUUID()
  const row = testEventRow({ app_id, ts_ms: Date.UTC(2026, 2, 5), partition: 3, offset: 2 ** 40 })
  const install = testEventRow({
    app_id,
    ts_ms: Date.UTC(2026, 2, 5),
    key_day: '1970-01-01',
    event_key: '18446744073709551615',
  })
  await clickhouse.insertEvents([row, install], randomUUID())
  const found = await findEventKeys(clickhouse, [
    ask(row, '2026-03-04'),
    { ...ask(row), app_id: randomUUID() },
    ask(install, '2026-03-05'),
  ])
  const { topic } = row
  expect(found.toSorted((a, b) => a.key_day.localeCompare(b.key_day))).toEqual([
    { ...keyOf(install), topic, partition: 0, offset: 0 },
    { ...keyOf(row), topic, partition: 3, offset: 2 ** 40 },
  ])
})

test('a key that is stored on another asked day is not taken for an answer', async () => {
  const app_id = randomUUID()
  const row = testEventRow({ app_id, ts_ms: Date.UTC(2026, 2, 5) })
  const other = testEventRow({ app_id, ts_ms: Date.UTC(2026, 6, 5) })
  await clickhouse.insertEvents([row, other], randomUUID())
  const found = await findEventKeys(clickhouse, [ask(other), ask({ ...row, key_day: other.key_day })])
  expect(found.map(keyOf)).toEqual([keyOf(other)])
})

test('many keys of many apps and days, stored or not, are told apart', async () => {
  const apps = Array.from({ length: 40 }, () => randomUUID())
  const rows = Array.from({ length: 50_000 }, (_, index) =>
    testEventRow({ app_id: apps[index % 40]!, ts_ms: Date.UTC(2025, 0, 1) + (index % 365) * day_ms }),
  )
  const stored = rows.filter((_, index) => index % 3 === 0)
  await clickhouse.insertEvents(stored, randomUUID())
  const found = await findEventKeys(
    clickhouse,
    rows.map((row) => ask(row)),
  )
  const text = (keys: readonly Key[]) => keys.map((key) => JSON.stringify(keyOf(key))).toSorted()
  expect(text(found)).toEqual(text(stored))
})

test.each([1, 3])(
  'keys that came late are found on their own days, among many of one day, of %i apps',
  async (count) => {
    const apps = Array.from({ length: count }, () => randomUUID())
    const today = Array.from({ length: 400 }, () => Date.UTC(2026, 2, 5))
    const late = Array.from({ length: 60 }, (_, index) => Date.UTC(2025, 0, 1) + index * 7 * day_ms)
    const rows = [...today, ...late].map((ts_ms, index) => testEventRow({ app_id: apps[index % count]!, ts_ms }))
    const stored = rows.filter((_, index) => index % 4 !== 0)
    await clickhouse.insertEvents(stored, randomUUID())
    const found = await findEventKeys(
      clickhouse,
      rows.map((row) => ({ ...ask(row), key_days: duplicateDays(row.key_day) })),
    )
    const text = (keys: readonly Key[]) => keys.map((key) => JSON.stringify(keyOf(key))).toSorted()
    expect(text(found)).toEqual(text(stored))
  },
)

test.each([1, 4])('late keys of %i apps read few granules of a year', async (count) => {
  const [apps, days] = [Array.from({ length: count }, () => randomUUID()), Array.from({ length: 100 }, (_, n) => n)]
  const dayOf = (n: number) => new Date(Date.UTC(2025, 0, 1) + n * day_ms).toISOString().slice(0, 10)
  await clickhouse.command(
    `INSERT INTO event_keys_v1 (app_id, key_day, event_key)
     SELECT arrayJoin(${JSON.stringify(apps).replaceAll('"', "'")}), toDate('2025-01-01') + number % 100, sipHash64(number) FROM numbers(400000 / ${count})`,
  )
  const granules: number[] = []
  const explained = {
    ...clickhouse,
    async query<Row>(sql: string): Promise<Row[]> {
      const steps = await clickhouse.query<{ explain: string }>(`EXPLAIN indexes = 1 ${sql}`)
      granules.push(Number(/^.*Granules: (\d+)/s.exec(steps.map(({ explain }) => explain).join())![1]))
      return clickhouse.query<Row>(sql)
    },
  }
  const late = days.map((n) => ({ key_day: dayOf(n), app_id: apps[n % count]! }))
  const today = Array.from({ length: 300 }, () => ({ key_day: dayOf(99), app_id: apps[0]! }))
  const lookups = [...late, ...today].map((one) => ({
    ...one,
    key_days: duplicateDays(one.key_day),
    event_key: `${randomBytes(8).readBigUInt64LE()}`,
  }))
  await findEventKeys(explained, lookups)
  // 300 tuples read a granule each; a set of these days would read all 800.
  expect(granules.reduce((sum, some) => sum + some, 0)).toBeLessThan(420)
})

test.each([
  { count: 40_000, days: 1 },
  { count: 10_000, days: 250 },
])('$count keys of as many apps with the longest names, on $days days, are looked up', async ({ count, days }) => {
  const lookups = Array.from({ length: count }, (_, n) => {
    const key_day = new Date(Date.UTC(2025, 0, 1) + (n % days) * day_ms).toISOString().slice(0, 10)
    return { app_id: `${n}`.padStart(64, 'a'), event_key: `${2n ** 64n - 1n}`, key_days: duplicateDays(key_day) }
  })
  expect(await findEventKeys(clickhouse, lookups)).toEqual([])
})

test('an app of a hostile name is a text, and finds nothing; a key that is no number never reaches the statement', async () => {
  const stored = testEventRow({ app_id: randomUUID(), ts_ms: Date.UTC(2026, 2, 5) })
  await clickhouse.insertEvents([stored], randomUUID())
  expect(await findEventKeys(clickhouse, [ask({ ...stored, app_id: "a') OR 1=1 --" })])).toEqual([])
  const key = "1]', 'Array(UInt64)') OR (1"
  await expect(findEventKeys(clickhouse, [ask({ ...stored, event_key: key })])).rejects.toThrow(TypeError)
})

test('nothing asked is nothing found', async () => {
  expect(await findEventKeys(clickhouse, [])).toEqual([])
})
