import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { openEmbeddedPostgres } from '@tributary/postgres/embedded/embedded-postgres'
import { openPostgres } from '@tributary/postgres/postgres'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startPartnerServer } from '../partners/partner-server.ts'
import { admin, certificate, eraseAll, livePerson, sendSigned } from './person.ts'
import { type Needles, named, searchClickhouse, searchFiles, searchPostgres } from './search.ts'

async function grepClickhouse(data_dir: string, needles: Needles): Promise<string[]> {
  const clickhouse = await openEmbeddedClickhouse({ data_dir })
  const hits = await searchClickhouse(clickhouse, needles)
  await clickhouse.close()
  return hits
}

async function grepPostgres(data_dir: string, needles: Needles): Promise<string[]> {
  const server = await openEmbeddedPostgres({ data_dir, logger: pino({ level: 'silent' }) })
  const pool = openPostgres({ url: server.url, pool_max: 1, statement_timeout_ms: 10_000, connect_timeout_ms: 5000 })
  const hits = await searchPostgres(pool, needles)
  await pool.end()
  await server.close()
  return hits
}

test('after an erasure nothing of the install is left but what docs/privacy.md names', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-grep-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const env = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1', TRIBUTARY_POSTBACK_ALLOWED_NETWORKS: '127.0.0.1' }
  const partner = await startPartnerServer()
  onTestFinished(() => partner.close())
  const { url, demo, stop } = await startStandaloneProcess({ data_dir, env })
  const { APP_ID, LINK_ID, COMPANY_KEY, APP_KEY, SIGNING_SECRET, SERVER_KEY } = demo()
  const app = {
    ...{ gateway_url: url, link_gateway_url: url, admin_url: url, app_id: APP_ID!, link_id: LINK_ID! },
    admin_token: readFileSync(join(data_dir, 'admin-token'), 'utf8').trim(),
    keys: { company_key: COMPANY_KEY!, app_key: APP_KEY!, signing_secret: SIGNING_SECRET! },
    server_key: SERVER_KEY!,
    untilWritten: () => waitUntilWritten(url, data_dir),
  }
  // The partner hears of the install, and what it is owed of a purchase waits.
  partner.answer((incoming, response) =>
    response.writeHead(incoming.url?.includes('purchase') ? 503 : 200).end(incoming.url),
  )
  const { links } = JSON.parse(await admin(app, `links?app_id=${APP_ID}`))
  const name = links.find(({ link_id }: { link_id: string }) => link_id === LINK_ID).partner
  const postback_url = `${partner.url}/{install_uuid}/{event_name}/{sub1}`
  const set = { app_id: APP_ID, partner: name, postback_url, events: ['install', 'purchase'], flagged: 'send' }
  const headers = { authorization: `Bearer ${app.admin_token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(set)
  expect((await fetch(`${url}/admin/api/v1/partners`, { method: 'PUT', headers, body })).status).toBe(200)
  const { install_uuid, needles } = await livePerson(app, '203.0.113.77')
  await vi.waitFor(
    () =>
      expect(new Set(partner.heard.map(({ path }) => path.split('/')[2]))).toEqual(new Set(['install', 'purchase'])),
    { timeout: 180_000, interval: 50 },
  )

  expect(await sendSigned(app, '/privacy/delete', { install_uuid })).toBe(202)
  await app.untilWritten()
  await eraseAll(app)
  expect(await certificate(app, install_uuid)).toContain('"completed"')
  await app.untilWritten()
  await stop('SIGTERM')

  const places = [
    ...(await grepClickhouse(join(data_dir, 'clickhouse'), needles)),
    ...(await grepPostgres(join(data_dir, 'postgres'), needles)),
    ...['audit', 'key-value', 'log', 'postgres'].flatMap((folder) =>
      searchFiles(join(data_dir, folder), needles, (name) => `${folder}: ${name}`),
    ),
  ]
  const all = [named.log, named.proof, named.lost_clicks, named.raw_copies, named.postgres_files]
  // A delete names an install only when its part was merged meanwhile.
  const allowed = [...all, named.mutations]
  expect(places.filter((place) => !allowed.some((one) => one.test(place)))).toEqual([])
  // What remains is found, so whatever else remained would be.
  expect(all.filter((one) => !places.some((place) => one.test(place)))).toEqual([])
}, 180_000)
