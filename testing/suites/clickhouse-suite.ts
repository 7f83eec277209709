import { randomUUID } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** One engine with an empty database for the suite. */
export interface ClickhouseUnderTest {
  open(): Promise<Clickhouse>
  dispose(): Promise<void>
}

/** The promises of both sides of the Clickhouse interface (clickhouse.ts). */
export function clickhouseSuite(name: string, start: () => Promise<ClickhouseUnderTest>): void {
  describe(`${name} keeps the promises of an analytics engine`, () => {
    let under: ClickhouseUnderTest
    let clickhouse: Clickhouse
    beforeAll(async () => {
      under = await start()
      clickhouse = await under.open()
    })
    afterAll(async () => {
      await clickhouse.close()
      await under.dispose()
    })

    /** Makes a table and a view that groups it. Both remember the tokens of their inserts. */
    async function makeTable() {
      const table = `t_${randomUUID().replaceAll('-', '')}`
      const window = 'SETTINGS non_replicated_deduplication_window = 1000'
      await clickhouse.command(`CREATE TABLE ${table} (a UInt64, b String) ENGINE = MergeTree ORDER BY a ${window}`)
      await clickhouse.command(
        `CREATE TABLE ${table}_sums (b String, n UInt64) ENGINE = SummingMergeTree ORDER BY b ${window}`,
      )
      await clickhouse.command(
        `CREATE MATERIALIZED VIEW ${table}_mv TO ${table}_sums AS SELECT b, count() AS n FROM ${table} GROUP BY b`,
      )
      const insert = (rows: readonly (readonly [string | number, string])[], token: string = randomUUID()) => {
        const lines = rows.map((row) => JSON.stringify(row)).join('\n')
        return clickhouse.insert({ table, columns: ['a', 'b'], lines: Buffer.from(lines), token })
      }
      const counts = async () => {
        const [row] = await clickhouse.query<{ raw: number; rolled: number }>(
          `SELECT (SELECT count() FROM ${table}) AS raw, (SELECT sum(n) FROM ${table}_sums) AS rolled`,
        )
        return row
      }
      return { table, insert, counts }
    }

    it('passes parameters of any content', async () => {
      const text = `it's "\\ \t\n {n:UInt8} größe 🙂 '; DROP TABLE t --`
      const [row] = await clickhouse.query(
        'SELECT {text:String} AS text, {n:UInt32} AS n, {list:Array(String)} AS list, {day:Date} AS day, {none:Nullable(String)} AS none',
        { text, n: 7, list: ['a', "b'\\"], day: '2026-01-31', none: null },
      )
      expect(row).toEqual({ text, n: 7, list: ['a', "b'\\"], day: '2026-01-31', none: null })
    })

    it('passes lists that are together longer than a URL', async () => {
      const list = Array.from({ length: 1_500 }, (_, n) => `2026-01-31/EUR/${n}'"\\größe`.padEnd(60, '7'))
      const lists = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`list_${n}`, list]))
      const all = Object.keys(lists).map((name) => `{${name}:Array(String)}`)
      const sql = `SELECT arrayDistinct([${all}]) AS lists, toUInt32(length(arrayConcat(${all}))) AS n`
      expect(await clickhouse.query(sql, lists)).toEqual([{ lists: [list], n: 15_000 }])
    })

    it('returns 64-bit integers as numbers, or as text when the SQL converts them', async () => {
      const sql = "SELECT toUInt64(9007199254740991) AS n, toString(toUInt64('18446744073709551615')) AS text"
      expect(await clickhouse.query(sql)).toEqual([{ n: 9007199254740991, text: '18446744073709551615' }])
    })

    it('writes rows with their bytes unchanged, also in large blocks', async () => {
      const { table, insert, counts } = await makeTable()
      await insert([['18446744073709551615', `"\\ \n ü 🙂`]])
      await insert(Array.from({ length: 20_000 }, (_, index) => [index, `name ${index % 3}`]))
      expect(await counts()).toEqual({ raw: 20_001, rolled: 20_001 })
      expect(
        await clickhouse.query(`SELECT toString(a) AS a, b FROM ${table} ORDER BY ${table}.a DESC LIMIT 1`),
      ).toEqual([{ a: '18446744073709551615', b: `"\\ \n ü 🙂` }])
    })

    it('changes neither table nor view when an insert comes again with its token', async () => {
      const { insert, counts } = await makeTable()
      for (let round = 0; round < 3; round += 1)
        await insert(
          [
            [1, 'x'],
            [2, 'y'],
          ],
          'one',
        )
      expect(await counts()).toEqual({ raw: 2, rolled: 2 })
      await insert(
        [
          [1, 'x'],
          [2, 'y'],
        ],
        'two',
      )
      expect(await counts()).toEqual({ raw: 4, rolled: 4 })
    })

    it('repairs a view that failed when the insert comes again', async () => {
      const { table, insert, counts } = await makeTable()
      await clickhouse.command(`RENAME TABLE ${table}_sums TO ${table}_gone`)
      await expect(insert([[1, 'x']], 'token')).rejects.toThrow()
      await clickhouse.command(`RENAME TABLE ${table}_gone TO ${table}_sums`)
      await insert([[1, 'x']], 'token')
      await insert([[1, 'x']], 'token')
      expect(await counts()).toEqual({ raw: 1, rolled: 1 })
    })

    it('writes no row of a block with an invalid row', async () => {
      const { insert, counts } = await makeTable()
      await expect(
        insert([
          [1, 'x'],
          ['many', 'y'],
        ]),
      ).rejects.toThrow(/parse|Cannot/)
      expect(await counts()).toEqual({ raw: 0, rolled: 0 })
    })

    it('names the mistake of a wrong statement, without the code unavailable', async () => {
      for (const sql of ['SELECT * FROM no_such_table', 'SELEC 1']) {
        const error: Error & { code?: string } = await clickhouse.query(sql).then(
          () => expect.fail(),
          (thrown) => thrown,
        )
        expect(error.code).not.toBe('unavailable')
        expect(error.message).toMatch(/no_such_table|Syntax error/)
      }
      await expect(clickhouse.query('SELECT {missing:String} AS a', { other: 1 })).rejects.toThrow(/missing/)
      await expect(clickhouse.command('DROP TABLE no_such_table')).rejects.toThrow(/no_such_table/)
    })

    it('refuses a too expensive query with unavailable', async () => {
      const hungry = 'SELECT groupArray(toString(number)) FROM numbers({n:UInt64}) SETTINGS max_memory_usage = 10000000'
      await expect(clickhouse.query(hungry, { n: 10_000_000 })).rejects.toMatchObject({ code: 'unavailable' })
    })

    it('streams the rows of a SELECT as lines, and as one Parquet file of the engine', async () => {
      const { table, insert } = await makeTable()
      await insert([
        [1, 'größe'],
        [2, '"'],
      ])
      const sql = `SELECT a, b FROM ${table} WHERE a < 3 ORDER BY a SETTINGS max_threads = 1`
      const signal = new AbortController().signal
      const lines = await text(await clickhouse.stream(sql, { format: 'JSONEachRow', signal }))
      expect(
        lines
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toEqual([
        { a: 1, b: 'größe' },
        { a: 2, b: '"' },
      ])
      const file = await buffer(await clickhouse.stream(sql, { format: 'Parquet', signal }))
      expect([file.subarray(0, 4).toString(), file.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1'])
      expect(file.indexOf('PAR1', 4)).toBe(file.length - 4)
      const none = `SELECT a FROM ${table} WHERE a > 3`
      expect(await text(await clickhouse.stream(none, { format: 'JSONEachRow', signal }))).toBe('')
    })

    it('fails a stream whose statement fails, at once or in the midst of its rows', async () => {
      const read = async (sql: string) => {
        const stream = await clickhouse.stream(sql, { format: 'JSONEachRow', signal: new AbortController().signal })
        await text(stream)
      }
      await expect(read('SELECT * FROM no_such_table')).rejects.toThrow(/no_such_table/)
      const late = 'SELECT throwIf(number = 5000000), number FROM numbers(10000000) SETTINGS max_threads = 1'
      await expect(read(late)).rejects.toThrow()
    })

    it('refuses writes in a query with parameters', async () => {
      const { table, counts } = await makeTable()
      const sneaky = clickhouse.query(`INSERT INTO ${table} SELECT {a:UInt64}, ''`, { a: 1 })
      await expect(sneaky).rejects.toThrow(/readonly/)
      expect(await counts()).toEqual({ raw: 0, rolled: 0 })
    })

    it('reads a large table in two threads', async () => {
      const { table } = await makeTable()
      await clickhouse.command(`INSERT INTO ${table} SELECT number, '' FROM numbers(1000000)`)
      const steps = await clickhouse.query<{ explain: string }>(
        `EXPLAIN PIPELINE SELECT uniqExact(a) FROM ${table} WHERE a < {a:UInt64} SETTINGS max_threads = 2`,
        { a: 900_000 },
      )
      expect(steps.map(({ explain }) => explain).join()).toMatch(/MergeTreeSelect.* × 2\b/)
    })

    it('needs no memory for statistics of a large set of keys', async () => {
      const { table } = await makeTable()
      await clickhouse.command(`INSERT INTO ${table} SELECT number, 'x' FROM numbers(600000)`)
      // Merged parts have statistics.
      await clickhouse.command(`OPTIMIZE TABLE ${table} FINAL`)
      const [row] = await clickhouse.query<{ rows: number }>(
        `SELECT count() AS rows FROM ${table} WHERE b = 'x' AND a IN (SELECT a FROM ${table} WHERE a >= {a:UInt64})
         SETTINGS max_memory_usage = 80000000`,
        { a: 0 },
      )
      expect(row).toEqual({ rows: 600_000 })
    })

    it('runs statements of several megabytes', async () => {
      const keys = Array.from({ length: 150_000 }, (_, index) => `18446744073709${100_000 + index}`).join(',')
      expect(await clickhouse.query(`SELECT length(CAST('[${keys}]', 'Array(UInt64)')) AS n`)).toEqual([{ n: 150_000 }])
    })

    it('keeps parameters, tokens and settings of parallel statements apart', async () => {
      const { insert, counts } = await makeTable()
      const numbers = Array.from({ length: 30 }, (_, index) => index)
      const answers = await Promise.all(
        numbers.flatMap((n) => [
          clickhouse.query<{ n: number }>('SELECT {n:UInt32} AS n', { n }).then(([row]) => row?.n),
          clickhouse.query<{ n: number }>(`SELECT ${n} AS n`).then(([row]) => row?.n),
          insert([[1, 'x']], `${n}`).then(() => n),
          insert([[1, 'x']], `${n}`).then(() => n),
        ]),
      )
      expect(answers).toEqual(numbers.flatMap((n) => [n, n, n, n]))
      expect(await counts()).toEqual({ raw: 30, rolled: 30 })
    })

    it('keeps rows and tokens over a restart', async () => {
      const { insert, counts } = await makeTable()
      await insert([[1, 'x']], 'token')
      await clickhouse.close()
      clickhouse = await under.open()
      await clickhouse.checkHealth()
      await insert([[1, 'x']], 'token')
      expect(await counts()).toEqual({ raw: 1, rolled: 1 })
    })

    it('refuses calls after it was closed', async () => {
      await clickhouse.close()
      await expect(clickhouse.query('SELECT 1')).rejects.toThrow(/closed/)
      await expect(clickhouse.command('SELECT 1')).rejects.toThrow(/closed/)
      await expect(clickhouse.checkHealth()).rejects.toThrow()
      clickhouse = await under.open()
    })
  })
}
