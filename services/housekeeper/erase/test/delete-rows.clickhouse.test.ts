import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { deleteRows } from '../src/batch/delete-rows.ts'

const table = 'transaction_keys_v1'
const columns = ['transaction_key', 'topic', 'partition', 'offset']
const app_id = 'app_0123456789abcdef0123'

let clickhouse: TestClickhouse
beforeEach(async () => {
  clickhouse ??= await openTestClickhouse()
  await clickhouse.command(`TRUNCATE TABLE ${table}`)
})
afterAll(() => clickhouse?.close())

/** Each is a part; a key stands at the position of its number. */
const write = (...parts: number[][]): Promise<void> => writeTo(app_id, ...parts)
async function writeTo(app: string, ...parts: number[][]): Promise<void> {
  for (const keys of parts) {
    const values = keys.map((key) => `('${app}', ${key}, '2026-01-01', 1, 1, 't', 0, ${key}, 2)`)
    await clickhouse.command(
      `INSERT INTO ${table} (app_id, transaction_key, day, received_at_ms, written_at_ms, topic, partition, offset, claim_rank)
       VALUES ${values.join(', ')}`,
    )
  }
}

const keysOf = (...keys: number[]) => ({ columns, rows: keys.map((key) => [key, 't', 0, key]) })
const left = async () => {
  const rows = await clickhouse.query<{ key: string }>(
    `SELECT toString(transaction_key) AS key FROM ${table} ORDER BY transaction_key`,
  )
  return rows.map(({ key }) => Number(key))
}

/** The engine, with something that happens right before the nth delete. */
function whenDeleting(nth: number, meanwhile: () => Promise<void>) {
  const statements: string[] = []
  const engine: Pick<Clickhouse, 'query' | 'command'> = {
    query: (sql, params) => clickhouse.query(sql, params),
    async command(sql, options) {
      statements.push(sql)
      if (statements.length === nth) await meanwhile()
      await clickhouse.command(sql, options)
    },
  }
  return { engine, statements }
}

test('rows of several parts go, also from parts that have hidden rows, and all others stay', async () => {
  await write([1, 2, 3, 4], [5, 6, 7], [8, 9])
  for (const keys of [[2, 6], [3, 5], [1]]) await deleteRows(clickhouse, table, app_id, keysOf(...keys), 'eraser/test')
  expect(await left()).toEqual([4, 7, 8, 9])
})

test('rows of another app with the same keys and positions stay', async () => {
  await writeTo('app_of_others', [1, 2])
  await write([1, 2, 3])
  await deleteRows(clickhouse, table, app_id, keysOf(1, 3), 'eraser/test')
  expect(await left()).toEqual([1, 2, 2])
})

test('rows whose parts are merged while they are looked up go all the same', async () => {
  await write([1, 3], [2, 4])
  const { engine, statements } = whenDeleting(1, () => clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`))
  await deleteRows(engine, table, app_id, keysOf(1, 4), 'eraser/test')
  expect(await left()).toEqual([2, 3])
  expect(statements).toHaveLength(2)
})

test('a row that is written while others are looked up stays, also with the key of one of them', async () => {
  await write([1, 2])
  const { engine } = whenDeleting(1, () =>
    clickhouse.command(
      `INSERT INTO ${table} (app_id, transaction_key, day, received_at_ms, written_at_ms, topic, partition, offset, claim_rank)
       VALUES ('${app_id}', 1, '2026-01-01', 9, 9, 't', 0, 100, 2)`,
    ),
  )
  await deleteRows(engine, table, app_id, keysOf(1), 'eraser/test')
  expect(await left()).toEqual([1, 2])
})

test('a table without such a row is not touched, and a delete that comes again costs none', async () => {
  await write([1, 2])
  const { engine, statements } = whenDeleting(0, async () => {})
  await deleteRows(engine, table, app_id, keysOf(7), 'eraser/test')
  expect(statements).toEqual([])
  await deleteRows(engine, table, app_id, keysOf(1), 'eraser/test')
  await deleteRows(engine, table, app_id, keysOf(1), 'eraser/test')
  expect(statements).toHaveLength(1)
  expect(await left()).toEqual([2])
})

test('a delete that meets no merge leaves no name of a row with the engine', async () => {
  const name = 987_654_321
  await write([name, 2])
  await deleteRows(clickhouse, table, app_id, keysOf(name), 'eraser/test')
  const kept = await clickhouse.query<{ command: string }>(
    `SELECT command FROM system.mutations WHERE table = '${table}'`,
  )
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.filter(({ command }) => command.includes(`${name}`))).toEqual([])
})

test('rows with many copies are named once each, since the engine reads the statement for every part', async () => {
  const keys = Array.from({ length: 1000 }, (_, n) => n)
  await clickhouse.command(`SYSTEM STOP MERGES ${table}`)
  try {
    // Selected rows are not held against rows of before.
    for (let copies = 0; copies < 11; copies++)
      await clickhouse.command(
        `INSERT INTO ${table} (app_id, transaction_key, day, received_at_ms, written_at_ms, topic, partition, offset, claim_rank)
         SELECT '${app_id}', number, '2026-01-01', 1, 1, 't', 0, number, 2 FROM numbers(${keys.length})`,
      )
  } finally {
    await clickhouse.command(`SYSTEM START MERGES ${table}`)
  }
  await write([2000])
  const { engine, statements } = whenDeleting(0, async () => {})
  await deleteRows(engine, table, app_id, keysOf(...keys), 'eraser/test')
  expect(Math.max(...statements.map((one) => one.length))).toBeLessThan(40_000)
  expect(await left()).toEqual([2000])
})
