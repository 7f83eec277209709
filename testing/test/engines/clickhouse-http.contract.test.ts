import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { expect, it } from 'vitest'
import { describeWithEngine } from '../../engines/describe-with-engine.ts'

/** Behaviour that the test engine shares with a ClickHouse server. `TRIBUTARY_TEST_CLICKHOUSE_URL` runs it on a server. */
await describeWithEngine('clickhouse', ({ url }) => {
  const send = (search: Record<string, string>, init: RequestInit = {}) =>
    fetch(`${url}/?${new URLSearchParams(search)}`, { method: 'POST', ...init })
  const run = async (search: Record<string, string>, init?: RequestInit) => (await send(search, init)).text()
  const makeTable = async () => {
    const table = `tributary.t_${randomUUID().replaceAll('-', '')}`
    await run({ query: `CREATE TABLE ${table} (a UInt64, b String) ENGINE = MergeTree ORDER BY a` })
    return table
  }

  it('answers a ping', async () => {
    expect(await (await fetch(`${url}/ping`)).text()).toBe('Ok.\n')
  })

  it('takes the statement from the URL or the body, and its format from either', async () => {
    expect(await run({}, { body: 'SELECT 1 AS a FORMAT JSONEachRow' })).toBe('{"a":1}\n')
    expect(await run({ query: 'SELECT 1 AS a', default_format: 'JSONEachRow' })).toBe('{"a":1}\n')
    expect(await run({ query: "SELECT 1, 'a\tb'" })).toBe('1\ta\\tb\n')
  })

  it('returns the exact bytes of the format', async () => {
    const answer = await send({ query: 'SELECT toUInt64(18446744073709551615) FORMAT RowBinary' })
    expect(Buffer.from(await answer.arrayBuffer()).toString('hex')).toBe('f'.repeat(16))
  })

  it('applies settings and parameters to their own statement only', async () => {
    const search = { query: "SELECT getSetting('max_block_size'), {a:String}", max_block_size: '123', param_a: 'x\\ty' }
    expect(await run(search)).toBe('123\tx\\ty\n')
    expect(await run({ query: "SELECT getSetting('max_block_size') = 123" })).toBe('0\n')
    expect(await run({ query: 'SELECT {a:String}' })).toMatch(/UNKNOWN_QUERY_PARAMETER/)
    expect(await run({ query: 'SELECT 1', no_such_setting: '1' })).toMatch(/UNKNOWN_SETTING/)
  })

  it('runs in the database of the URL', async () => {
    expect(await run({ query: 'SELECT currentDatabase()', database: 'tributary' })).toBe('tributary\n')
    expect(await run({ query: 'SELECT currentDatabase()' })).toBe('default\n')
    expect(await run({ query: 'SELECT 1', database: 'nowhere' })).toMatch(/UNKNOWN_DATABASE/)
  })

  it('inserts rows from a body: plain, compressed, in pieces, or after the statement', async () => {
    const table = await makeTable()
    const query = `INSERT INTO ${table} (a, b) FORMAT JSONCompactEachRow`
    await run({ query }, { body: '[1,"plain"]\n' })
    await run({ query }, { body: await promisify(gzip)('[2,"gzip"]'), headers: { 'content-encoding': 'gzip' } })
    const pieces = Readable.toWeb(Readable.from([Buffer.from('[3,"pie'), Buffer.from('ces"]\n')]))
    await run({ query }, { body: pieces as ReadableStream, duplex: 'half' } as RequestInit)
    await run({}, { body: `${query}\n[4,"in one"]` })
    await run({ query: `INSERT INTO ${table} FORMAT TabSeparated` }, { body: '5\ttext\n' })
    expect(await run({ query: `SELECT * FROM ${table} ORDER BY a FORMAT CSV` })).toBe(
      '1,"plain"\n2,"gzip"\n3,"pieces"\n4,"in one"\n5,"text"\n',
    )
  })

  it('names an error by header, status and text', async () => {
    const answer = await send({ query: 'SELECT * FROM no_such_table' })
    expect([answer.status, answer.headers.get('x-clickhouse-exception-code')]).toEqual([404, '60'])
    expect(await answer.text()).toMatch(/^Code: 60\. DB::Exception: .*\(UNKNOWN_TABLE\) \(version /s)
    const wrong = await send({}, { body: 'SELEC 1' })
    expect([wrong.status, wrong.headers.get('x-clickhouse-exception-code')]).toEqual([400, '62'])
  })

  it('lets a GET change nothing', async () => {
    const table = await makeTable()
    expect(await run({ query: `DROP TABLE ${table}` }, { method: 'GET' })).toMatch(/READONLY/)
    expect(await run({ query: `SELECT count() FROM ${table}` }, { method: 'GET' })).toBe('0\n')
  })

  it('echoes the id of a query and sums up what it wrote', async () => {
    const table = await makeTable()
    const query_id = randomUUID()
    const { headers } = await send(
      { query: `INSERT INTO ${table} (a, b) FORMAT JSONEachRow`, query_id },
      { body: '{"a":1,"b":""}' },
    )
    expect(headers.get('x-clickhouse-query-id')).toBe(query_id)
    expect(JSON.parse(headers.get('x-clickhouse-summary') ?? '{}')).toMatchObject({ written_rows: '1' })
  })
})
