import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, expect, test } from 'vitest'

const clickhouse = await openTestClickhouse({ migrated: false })
afterAll(() => clickhouse.close())

const settings = settingsSql({ max_threads: 1, ...memorySettings(200_000_000) })
/** Rows of some 200 bytes: more than the statement may take. */
const rows = 1_500_000

const count = async (from: string): Promise<number> => {
  const [row] = await clickhouse.query<{ n: number }>(
    `SELECT toInt64(countIf(text != '')) AS n FROM (${from}) SETTINGS ${settings}`,
  )
  return row!.n
}

test('a statement sorts more than it has memory for', async () => {
  const sorted = `SELECT randomPrintableASCII(200) AS text FROM numbers(${rows}) ORDER BY text LIMIT ${rows - 1}`
  expect(await count(sorted)).toBe(rows - 1)
})

test('a statement has more groups than it has memory for', async () => {
  const groups = `SELECT any(randomPrintableASCII(200)) AS text FROM numbers(${rows}) GROUP BY number`
  expect(await count(groups)).toBe(rows)
})

test('a statement joins more than it has memory for', async () => {
  const right = `SELECT number AS n, randomPrintableASCII(200) AS text FROM numbers(${rows})`
  const joined = `SELECT n, text FROM (SELECT number AS n FROM numbers(${rows})) AS l JOIN (${right}) AS r USING n`
  expect(await count(joined)).toBe(rows)
})
