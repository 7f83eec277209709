import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, expect, test } from 'vitest'

let clickhouse: TestClickhouse
beforeEach(async () => {
  clickhouse = await openTestClickhouse({ migrated: false })
})
afterEach(() => clickhouse.close())

const oneSecond = 'SELECT sleepEachRow(0.5) FROM numbers(2) SETTINGS max_block_size = 1'
const createTable = () => clickhouse.command('CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a')

test('an insert does not wait for a report', async () => {
  await createTable()
  const report = clickhouse.query(`${oneSecond.replace('numbers(2)', 'numbers({n:UInt8})')}`, { n: 2 })
  const done: string[] = []
  await Promise.all([
    report.then(() => done.push('report')),
    clickhouse.insert({ table: 't', columns: ['a'], lines: '[1]', token: 'a' }).then(() => done.push('insert')),
  ])
  expect(done).toEqual(['insert', 'report'])
})

test('a look-up of a consumer leaves the other core to reports', async () => {
  expect(await clickhouse.query(`SELECT getSetting('max_threads') AS threads`)).toEqual([{ threads: 1 }])
})

test('statements at the same time keep their own parameters and tokens', async () => {
  await createTable()
  const numbers = Array.from({ length: 40 }, (_, index) => index)
  const answers = await Promise.all(
    numbers.flatMap((n) => [
      clickhouse.query<{ n: number }>('SELECT {n:UInt32} AS n', { n }).then(([row]) => row!.n),
      clickhouse.query<{ n: number }>(`SELECT ${n} AS n`).then(([row]) => row!.n),
      clickhouse.insert({ table: 't', columns: ['a'], lines: '[1]', token: `${n}` }).then(() => n),
    ]),
  )
  expect(answers).toEqual(numbers.flatMap((n) => [n, n, n]))
  expect(await clickhouse.query('SELECT count() AS n FROM t')).toEqual([{ n: 40 }])
})

test('an insert or a command is found by the beginning of its name while it waits or runs', async () => {
  await createTable()
  const isFound = () => Promise.all(['w/1/', 'w/2/', 'w/3/'].map((prefix) => clickhouse.isInserting(prefix)))
  const inserts = Array.from({ length: 4 }, (_, n) =>
    clickhouse.insert({ table: 't', columns: ['a'], lines: '[1]', token: `w/1/${n}` }),
  )
  const fill = clickhouse.command('INSERT INTO t SELECT 1', { name: 'w/2/fill' })
  expect(await isFound()).toEqual([true, true, false])
  await Promise.all([...inserts, fill])
  expect(await isFound()).toEqual([false, false, false])
})

test('a question that costs too much is refused with unavailable', async () => {
  const hungry = clickhouse.query(
    'SELECT groupArray(toString(number)) FROM numbers({n:UInt64}) SETTINGS max_memory_usage = 10000000',
    { n: 10_000_000 },
  )
  await expect(hungry).rejects.toMatchObject({ code: 'unavailable' })
})

test('a question with parameters can write nothing', async () => {
  await createTable()
  await expect(clickhouse.query('INSERT INTO t SELECT {a:UInt64}', { a: 1 })).rejects.toThrow(/readonly/)
  expect(await clickhouse.query('SELECT * FROM t')).toEqual([])
})

test('a closed engine refuses instead of hanging, and what ran is done', async () => {
  const running = Promise.allSettled(Array.from({ length: 6 }, () => clickhouse.query(oneSecond)))
  await clickhouse.close()
  const outcomes = await running
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  await expect(clickhouse.query('SELECT 1')).rejects.toThrow(/closed/)
  await expect(clickhouse.checkHealth()).rejects.toThrow()
})
