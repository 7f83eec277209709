import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { readStatements } from '@tributary/clickhouse/schema/statements'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { tryClickhouse } from '../../../src/examine/try-clickhouse.ts'

afterEach(() => void vi.unstubAllEnvs())

/** A server that refuses statements of this form, and the statements about databases that it got. */
async function openServer(refused: RegExp, rows = 1) {
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    const sql = await text(request)
    if (/^(CREATE|DROP) DATABASE/.test(sql)) seen.push(sql.replace(/_[0-9a-f]{12}\b/, '_N'))
    if (refused.test(sql))
      response.writeHead(500).end('Code: 497. DB::Exception: Not enough privileges. (ACCESS_DENIED)')
    else if (sql.includes('version()')) response.end('{"version":"26.7.1"}\n')
    else response.end(/count\(\)\) AS rows FROM events_raw_v1/.test(sql) ? `{"rows":${rows}}\n` : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  vi.stubEnv('TRIBUTARY_CLICKHOUSE_URL', `http://admin:sEcReT@127.0.0.1:${(server.address() as AddressInfo).port}`)
  return seen
}

const made = 'CREATE DATABASE tributary_doctor_N'
const dropped = 'DROP DATABASE IF EXISTS tributary_doctor_N SYNC'

test.each([
  ['to make the database, which may be there all the same', /^CREATE DATABASE/],
  ['to make a table', /CREATE TABLE/],
])('a server that refuses %s is named, and the database is dropped', async (_what, refused) => {
  const seen = await openServer(refused)
  const checks = await tryClickhouse()
  expect(checks).toMatchObject([{ ok: false, found: expect.stringContaining('Not enough privileges') }])
  expect(JSON.stringify(checks)).not.toContain('sEcReT')
  expect(seen).toEqual([made, dropped])
})

test('a server that refuses to drop the database is named beside what was found before', async () => {
  await openServer(/DROP DATABASE|CREATE TABLE/)
  const checks = await tryClickhouse()
  expect(checks).toMatchObject([
    { name: 'clickhouse schema', ok: false },
    { ok: false, fix: expect.stringMatching(/^DROP DATABASE IF EXISTS tributary_doctor_/) },
  ])
})

test('a server that counts a repeated insert twice is refused', async () => {
  await openServer(/^nothing/, 2)
  const checks = await tryClickhouse(readStatements().filter(({ sql }) => sql.startsWith('INSERT INTO events_raw_v1 ')))
  expect(checks[1]).toMatchObject({
    name: 'clickhouse exactly once',
    ok: false,
    found: expect.stringContaining('2 rows'),
  })
})
