import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { openEmbeddedPostgres } from '@tributary/postgres/embedded/embedded-postgres'
import { openPostgres } from '@tributary/postgres/postgres'
import { startApp, tapLink } from '@tributary/testing/attribution/phone'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'

/** What stands for a person, by what it is. */
type Needles = Record<string, string>

/** What docs/privacy.md#erasure names, in its order. */
const named = [
  /^\w+ in log: /,
  /^install in audit: app_\w+\/privacy\//,
  /^(sub|click|device_hash) in installs_v1\.decision$/,
  /^install_key in system\.mutations$/,
  /^(install|click) in postgres: /,
]

/** `what in place` for every needle that a text holds. */
const found = (place: string, text: string, needles: Needles): string[] =>
  Object.entries(needles).flatMap(([what, needle]) => (text.includes(needle) ? [`${what} in ${place}`] : []))

async function grepClickhouse(data_dir: string, needles: Needles): Promise<string[]> {
  const clickhouse = await openEmbeddedClickhouse({ data_dir })
  const columns = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase()
     AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
  )
  const hits: string[] = []
  for (const { table, name } of columns) {
    const rows = await clickhouse.query<{ text: string }>(`SELECT DISTINCT toString(\`${name}\`) AS text FROM ${table}`)
    hits.push(...found(`${table}.${name}`, rows.map(({ text }) => text).join('\n'), needles))
  }
  // A verdict that another one has replaced keeps the clicks of its time, and the newest does not.
  const newest = await clickhouse.query(
    `SELECT argMax(decision, (topic, offset)) FROM installs_v1 WHERE sign = 1 GROUP BY app_id, install_uuid`,
  )
  hits.push(...found('newest verdicts', JSON.stringify(newest), needles))
  const mutations = await clickhouse.query('SELECT command FROM system.mutations')
  const parts = await clickhouse.query<{ path: string }>(
    'SELECT path FROM system.parts WHERE active AND database = currentDatabase()',
  )
  for (const { path } of parts) hits.push(...grepFiles(path, needles, () => `parts of ${path}`))
  await clickhouse.close()
  return [...hits, ...found('system.mutations', JSON.stringify(mutations), needles)]
}

async function grepPostgres(data_dir: string, needles: Needles): Promise<string[]> {
  const server = await openEmbeddedPostgres({ data_dir, logger: pino({ level: 'silent' }) })
  const pool = openPostgres({ url: server.url, pool_max: 1, statement_timeout_ms: 10_000, connect_timeout_ms: 5000 })
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  )
  const hits: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} AS t`)
    hits.push(...found(`postgres ${name}`, rows.map(({ text }) => text).join('\n'), needles))
  }
  await pool.end()
  await server.close()
  return hits
}

/** Names and bytes of all files below a folder; zipped ones are read as what they inflate to. */
function grepFiles(dir: string, needles: Needles, placeOf: (name: string) => string): string[] {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' })
  return names.flatMap((name) => {
    const path = join(dir, name)
    const bytes = statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0)
    const text = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
    return found(placeOf(name), `${name}\n${text.toString('latin1')}`, needles)
  })
}

test('after an erasure nothing of the install is left but what docs/privacy.md names', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-grep-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const env = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1' }
  const { url, demo, stop } = await startStandaloneProcess({ data_dir, env })
  const { APP_ID, LINK_ID, COMPANY_KEY, APP_KEY, SIGNING_SECRET, SERVER_KEY } = demo() as Record<string, string> & {
    APP_ID: string
  }
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const admin = async (path: string, body?: object) => {
    const method = body === undefined ? 'GET' : 'POST'
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/admin/api/v1/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    expect(answer.status).toBe(200)
    return answer.text()
  }
  const install_uuid = 'grepped-install-41ff'
  const gaid = '7f3c1de0-5a11-4c0e-9d2f-64aa00b1c2d3'
  const keys = { company_key: COMPANY_KEY!, app_key: APP_KEY!, signing_secret: SIGNING_SECRET! }
  const needles: Needles = {
    ...{ install: install_uuid, user: 'grepped-user-77', device: gaid, sub: 'grepped-sub-5', props: 'grepped-prop-3' },
    ...{ transaction: 'grepped-transaction-9', event: 'grepped-event-2', backend_event: 'grepped-renewal-8' },
    device_sha: createHash('sha256').update(gaid).digest('hex'),
  }

  const ip = '203.0.113.77'
  expect((await tapLink(`${url}/l/${LINK_ID}?gaid=${gaid}&sub1=${needles.sub}`, ip)).status).toBe(302)
  expect(await startApp(url, keys, { install_uuid, ip, gaid })).toBe(200)
  await waitUntilWritten(url, data_dir)
  // Its click is a candidate that this one lost to.
  expect(await startApp(url, keys, { install_uuid: 'neighbour', ip })).toBe(200)
  const purchase = {
    ...{ event_id: needles.event, event_name: 'purchase', install_uuid, user_id: needles.user, revenue: 5 },
    ...{ transaction_id: needles.transaction, props: { said: needles.props }, event_ts_ms: Date.now() },
  }
  const body = JSON.stringify({ events: [purchase] })
  const signed = {
    ...{ 'content-type': 'application/json', 'x-service-company-key': COMPANY_KEY!, 'x-service-app-key': APP_KEY! },
    'x-service-signature': createHmac('sha256', SIGNING_SECRET!).update(body).digest('hex'),
  }
  expect((await fetch(`${url}/event`, { method: 'POST', headers: signed, body })).status).toBe(200)
  const renewal = { ...purchase, event_id: needles.backend_event, transaction_id: undefined }
  const authorization = `Bearer ${SERVER_KEY}`
  const sent = await fetch(`${url}/s2s/event`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify(renewal),
  })
  expect(sent.status).toBe(200)
  const asked = JSON.stringify({ install_uuid })
  const sign = createHmac('sha256', SIGNING_SECRET!).update(asked).digest('hex')
  await waitUntilWritten(url, data_dir)

  const known = (await admin(`installs/${install_uuid}/export?app_id=${APP_ID}`)).trim().split('\n')
  const lines = known.map((line) => JSON.parse(line) as { table?: string; row: Record<string, unknown> })
  const click = lines.find(({ table }) => table === 'clicks_raw_v1')!.row
  needles.click = String(click.click_id)
  needles.device_hash = (click.click as { device_hashes: string[] }).device_hashes[0]!
  needles.install_key = String(lines.find(({ table }) => table === 'money_days_v1')!.row.install_key)

  expect(
    (
      await fetch(`${url}/privacy/delete`, {
        method: 'POST',
        headers: { ...signed, 'x-service-signature': sign },
        body: asked,
      })
    ).status,
  ).toBe(202)
  await waitUntilWritten(url, data_dir)
  for (let run = JSON.parse(await admin('erasures/run', {})); !run.done; )
    run = JSON.parse(await admin('erasures/run', { run: run.run }))
  expect(await admin(`erasures?app_id=${APP_ID}&install_uuid=${install_uuid}`)).toContain('"completed"')
  await waitUntilWritten(url, data_dir)
  await stop('SIGTERM')

  const places = [
    ...(await grepClickhouse(join(data_dir, 'clickhouse'), needles)),
    ...(await grepPostgres(join(data_dir, 'postgres'), needles)),
    ...['audit', 'key-value', 'log', 'postgres'].flatMap((folder) =>
      grepFiles(join(data_dir, folder), needles, (name) => `${folder}: ${name}`),
    ),
  ]
  const unnamed = places.filter((place) => !named.some((one) => one.test(place)))
  expect(unnamed).toEqual([])
  // What remains is found, so whatever else remained would be.
  expect(named.filter((one) => !places.some((place) => one.test(place)))).toEqual([])
}, 180_000)
