import { randomUUID } from 'node:crypto'
import { duplicateDays } from '@tributary/domain/event-key'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findEventKeys, type StoredEventKey } from '../src/event-keys.ts'

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

test.each([
  { app_id: "a') OR 1=1 --", key_day: '2026-01-01', event_key: '1' },
  { app_id: 'a', key_day: "2026-01-01'", event_key: '1' },
  { app_id: 'a', key_day: '2026-01-01', event_key: "1]', 'Array(UInt64)') OR (1" },
])('a value of another shape never reaches the statement: %o', async (hostile) => {
  await expect(findEventKeys(clickhouse, [ask(hostile)])).rejects.toThrow(TypeError)
})

test('nothing asked is nothing found', async () => {
  expect(await findEventKeys(clickhouse, [])).toEqual([])
})
