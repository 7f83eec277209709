import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { startIdentityProvider, type TestIdentityProvider } from '@tributary/testing/people/test-identity-provider'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { codesOf, operations } from './document.ts'
import { fire } from './fire.ts'
import { bearer, type Companies, event, type Shot } from './shot.ts'
import { adminShots } from './shots/admin-shots.ts'
import { costShots, ingestShots, schemaShots, signed } from './shots/ingest-shots.ts'
import { type DocumentedLinks, linkShots } from './shots/link-shots.ts'
import { oidcShots } from './shots/oidc-shots.ts'
import { partnerShots } from './shots/partner-shots.ts'
import { peopleShots } from './shots/people-shots.ts'
import { postbackShots } from './shots/postback-shots.ts'
import { reportShots, rowShots } from './shots/report-shots.ts'
import { type NotifiedApps, openSigningStores } from './shots/store-shots.ts'
import { adminOf } from './tenants.ts'

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-answers-'))
/** Each `POST /path code` that was answered. */
const seen = new Set<string>()
let standalone: StandaloneProcess
let provider: TestIdentityProvider
let admin_token: string
let companies: Companies
let ios_app_id: string
let stores: Awaited<ReturnType<typeof openSigningStores>>
let notified: NotifiedApps
let links: [DocumentedLinks, DocumentedLinks]

beforeAll(async () => {
  provider = await startIdentityProvider(null)
  stores = await openSigningStores(data_dir)
  const env = {
    ...stores.env,
    TRIBUTARY_ADMIN_HOSTS: 'panel.example.com', // an address without https
    TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1', // the shots name further addresses
    ...{ TRIBUTARY_OIDC_ISSUER: provider.issuer, TRIBUTARY_OIDC_CLIENT_ID: provider.client_id },
    ...{ TRIBUTARY_OIDC_CLIENT_SECRET: provider.client_secret, TRIBUTARY_OIDC_ROLE_CLAIM: 'roles' },
  }
  standalone = await startStandaloneProcess({ data_dir, env })
  admin_token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const admin = adminOf(standalone.url, admin_token)
  companies = {
    tenant: await admin.createTenant(),
    other: await admin.createTenant(),
    suspended: await admin.createTenant(),
    poor: await admin.createTenant({ monthly_quota: 0 }),
    narrow: await admin.createTenant({ allowed_events: ['purchase'] }),
    analyst: await admin.createTenant({ scopes: ['reports:read'] }),
    sender: await admin.createTenant({ scopes: ['events:write'] }),
    buyer: await admin.createTenant({ scopes: ['costs:write'] }),
    reader: await admin.createTenant({ scopes: ['raw:read'] }),
  }
  const { tenant, other } = companies
  links = [await admin.createLinks(tenant.company_id), await admin.createLinks(other.company_id)]
  ios_app_id = await admin.createIosApp(other.company_id)
  notified = await admin.createNotifiedApps(companies.suspended.company_id) // what they miss comes only once
  await admin.suspend(companies.suspended.company_id)
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  await Promise.all([provider.close(), stores.close()])
  rmSync(data_dir, { recursive: true, force: true })
})

/** Codes that only a failure of something else, the passing of time or a large app brings about: tests of the services hold those. */
const by_failure = [
  'internal_error',
  'unavailable',
  'audit_write_failed',
  'password_needed',
  'oidc_unavailable',
  'mail_failed',
  'too_many_rows', // of an app with more than 100 000 groups
  'busy',
]
/** Codes of an installation with other settings. */
const by_settings = ['oidc_off', 'password_sign_in_off']

it('answers every documented code, in the documented shape and with the documented headers, and nothing else', async () => {
  const wrong: string[] = []
  const people = await peopleShots(standalone.url, admin_token, companies)
  const shots: Shot[] = [
    ...postbackShots(stores.shots(notified)), // soon after the slow ones, which count for the same minute
    ...people.shots, // soon too: codes of authenticators end
    ...ingestShots(companies),
    ...costShots(companies),
    ...reportShots(companies),
    ...rowShots(admin_token, companies),
    ...linkShots(...links),
    ...(await oidcShots(standalone.url, provider, people.privacy)),
    ...adminShots(admin_token, companies, { kept_key: await keepObject(), ios_app_id, privacy: people.privacy }),
    ...partnerShots(admin_token, companies),
    ...schemaShots(companies),
    ...['GET /health', 'GET /ready', 'GET /metrics'].map((route) => ({ route, code: 'ok' })),
  ]
  const slow = Promise.all(slowShots().map((shot) => fire(standalone.url, shot, seen)))
  for (const shot of shots) wrong.push(...(await fire(standalone.url, shot, seen)))
  wrong.push(...(await slow).flat())
  await replayAtOnce()
  await reconcileAtOnce()
  wrong.push(...(await spendRate()), ...(await spendErasures()), ...(await guessTooOften()))
  expect(wrong).toEqual([])

  const documented = operations.flatMap(({ route, responses }) =>
    Object.values(responses).flatMap((response) => codesOf(response).map((code) => `${route} ${code}`)),
  )
  const unseen = documented.filter(
    (one) => !seen.has(one) && ![...by_failure, ...by_settings].some((code) => one.endsWith(` ${code}`)),
  )
  expect(unseen).toEqual([])
  expect(operations.map(({ route }) => route).filter((route) => !seen.has(`${route} ok`))).toEqual([])
})

function slowHeaders(route: string): Record<string, string> {
  const { tenant, buyer } = companies
  if (route === 'PUT /api/v1/costs') return bearer(buyer.server_key)
  return route.includes('/s2s/') ? bearer(tenant.server_key) : signed(tenant, '')
}

/** Bodies that are announced and do not come. */
const slowShots = (): Shot[] =>
  operations
    .filter(({ responses }) => responses[408] !== undefined)
    .map(({ route }) => ({
      ...{ route, code: 'request_timeout', announced_bytes: 1000 },
      headers: slowHeaders(route),
    }))

/** The audit key of an event that was accepted. */
async function keepObject(): Promise<string> {
  const headers = bearer(companies.tenant.server_key)
  const sent = await fetch(`${standalone.url}/s2s/event`, { method: 'POST', headers, body: JSON.stringify(event()) })
  return ((await sent.json()) as { audit_key: string }).audit_key
}

/** Of several replays that are asked for together one runs. */
async function replayAtOnce(): Promise<void> {
  const headers = bearer(admin_token)
  const body = JSON.stringify({ source: 'log', dry_run: true })
  const shot = { route: 'POST /admin/api/v1/replays', code: 'replay_running', headers, body }
  await Promise.all(Array.from({ length: 5 }, () => fire(standalone.url, shot, seen)))
}

/** The same for those who compare. */
async function reconcileAtOnce(): Promise<void> {
  const shot = {
    ...{ route: 'POST /admin/api/v1/reconcile', code: 'reconcile_running' },
    ...{ headers: bearer(admin_token), body: '{}' },
  }
  await Promise.all(Array.from({ length: 5 }, () => fire(standalone.url, shot, seen)))
}

/** Uses up all requests of a key, then asks each keyed route once more. */
async function spendRate(): Promise<string[]> {
  const headers = bearer(companies.narrow.server_key)
  // No install can be named so: the engine is not asked, and a busy machine gets through all within the window.
  const ask = () => fetch(`${standalone.url}/api/v1/installs/!`, { headers }).then((answer) => answer.arrayBuffer())
  for (let left = limits.key_requests_max; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, ask))
  const keyed = operations.filter(({ tags, responses }) => {
    const refused = responses[429]
    return (
      !['Admin', 'Privacy', 'Links', 'Postbacks'].includes(tags[0]!) &&
      refused !== undefined &&
      codesOf(refused).includes('rate_limited')
    )
  })
  const faults = keyed.map(({ route }) => {
    const [method, path = ''] = route.split(' ')
    const shot = { route, code: 'rate_limited', path: path.replace('{install_uuid}', 'i-1'), headers }
    return fire(standalone.url, method === 'GET' ? shot : { ...shot, body: '{}' }, seen)
  })
  return (await Promise.all(faults)).flat()
}

/** As many new erasure requests as an app may make, and one more. */
async function spendErasures(): Promise<string[]> {
  const shots = Array.from({ length: limits.erasures_max }, (_, n) => toErase('ok', companies.other, `spent-${n}`))
  const faults = await Promise.all(shots.map((shot) => fire(standalone.url, shot, seen)))
  return [...faults.flat(), ...(await fire(standalone.url, toErase('rate_limited', companies.other, 'i-1'), seen))]
}

function toErase(code: string, as: Companies['tenant'], install_uuid: string): Shot {
  const body = JSON.stringify({ install_uuid })
  return { route: 'POST /privacy/delete', code, body, headers: signed(as, body) }
}

/** Uses up the wrong admin tokens of an address at both services that take the token, then asks each route of the admin API with one more. */
async function guessTooOften(): Promise<string[]> {
  const headers = bearer('guess')
  const ask = (path: string) =>
    fetch(`${standalone.url}/admin/api/v1${path}`, { headers }).then((answer) => answer.arrayBuffer())
  for (const path of ['/status', '/apps/none/installs'])
    for (let left = limits.admin_guesses_of_address_max; left > 0; left -= 1) await ask(path)
  const faults = operations
    .filter(({ responses }) => codesOf(responses[401] ?? { description: '' }).includes('invalid_admin_token'))
    .map(({ route }) => {
      const path = (route.split(' ')[1] ?? '').replace('{id}', 'none')
      return fire(standalone.url, { route, code: 'rate_limited', path, headers }, seen)
    })
  return (await Promise.all(faults)).flat()
}
