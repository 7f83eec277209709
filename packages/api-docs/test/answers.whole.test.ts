import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testkit/standalone-process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { codesOf, createChecker, type DocumentedOperation, operations } from './document.ts'
import { adminOf, type Tenant } from './tenants.ts'

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-answers-'))
let standalone: StandaloneProcess
let admin_token: string
let tenant: Tenant
let other: Tenant
let suspended: Tenant
let poor: Tenant
let narrow: Tenant

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
  admin_token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const admin = adminOf(standalone.url, admin_token)
  tenant = await admin.createTenant()
  other = await admin.createTenant()
  suspended = await admin.createTenant()
  poor = await admin.createTenant({ monthly_quota: 0 })
  narrow = await admin.createTenant({ allowed_events: ['purchase'] })
  await admin.suspend(suspended.company_id)
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

/** A request to a documented route, and the code that it is to be answered with (`ok` for none). */
interface Shot {
  route: string
  code: string
  /** Where it differs from that of the route. */
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** A body of this size is announced, and none is sent: what is too large is refused unread. */
  announced_bytes?: number
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const signed = (as: Tenant, body: string | Buffer): Record<string, string> => ({
  'x-service-company-key': as.company_key,
  'x-service-app-key': as.app_key,
  'x-service-signature': createHmac('sha256', as.signing_secret).update(body).digest('hex'),
})
const event = (change: object = {}) => ({
  ...{ event_id: 'e-1', event_name: 'level_up', event_ts_ms: Date.now(), install_uuid: 'i-1' },
  ...change,
})
const gzip = { 'content-encoding': 'gzip' }
const spaces = (bytes: number) => Buffer.alloc(bytes, ' ')

function signedShots(route: string, good: string): Shot[] {
  const shot = (code: string, body: string | Buffer, headers: Record<string, string> = {}, as = tenant): Shot => ({
    ...{ route, code, body },
    headers: { ...signed(as, body), ...headers },
  })
  const zipped = gzipSync(good)
  return [
    shot('ok', good),
    shot('ok', zipped, gzip),
    { route, code: 'missing_auth_headers', body: good },
    { ...shot('body_too_large', ''), announced_bytes: limits.sdk_body_bytes_max + 1 },
    shot('empty_body', ''),
    shot('unknown_company_key', good, { 'x-service-company-key': 'co_live_0' }),
    shot('unknown_app_key', good, { 'x-service-app-key': 'app_live_0' }),
    shot('company_suspended', good, {}, suspended),
    shot('app_company_mismatch', good, { 'x-service-company-key': other.company_key }),
    shot('bad_signature', good, { 'x-service-signature': '0'.repeat(64) }),
    shot('unsupported_encoding', good, { 'content-encoding': 'br' }),
    shot('bad_gzip', zipped.subarray(0, -4), gzip),
    shot('decompressed_too_large', gzipSync(spaces(limits.sdk_inflated_bytes_max + 1)), gzip),
    shot('bad_json', '{'),
  ]
}

function serverShots(route: string, wrap: (event: object) => unknown, bytes_max: number): Shot[] {
  const shot = (code: string, body: unknown, headers = {}, as = tenant): Shot => ({
    ...{ route, code, body: Buffer.isBuffer(body) ? body : JSON.stringify(body) },
    headers: { ...bearer(as.server_key), ...headers },
  })
  const good = wrap(event())
  const zipped = gzipSync(JSON.stringify(good))
  return [
    shot('ok', good),
    shot('ok', zipped, gzip),
    { ...shot('missing_bearer_token', good), headers: {} },
    shot('unknown_or_revoked_key', good, bearer('srv_0')),
    shot('company_suspended', good, {}, suspended),
    { ...shot('body_too_large', good), announced_bytes: bytes_max + 1 },
    shot('unsupported_encoding', good, { 'content-encoding': 'br' }),
    shot('bad_gzip', zipped.subarray(0, -4), gzip),
    shot('bad_json', []),
    shot('s2s_app_platform_mismatch', wrap(event({ platform: 'ios' }))),
    shot('event_not_allowed_by_key', good, {}, narrow),
    shot('cap_exceeded', good, {}, poor),
  ]
}

function ingestShots(): Shot[] {
  const batch = (...events: object[]) => JSON.stringify({ events, sent_at_ms: Date.now() })
  const toEvent = (code: string, body: string, as = tenant): Shot => ({
    ...{ route: 'POST /event', code, body, headers: signed(as, body) },
  })
  const toErase = (code: string, body: string): Shot => ({
    ...{ route: 'POST /privacy/delete', code, body, headers: signed(tenant, body) },
  })
  const toServer = (code: string, change: object): Shot => ({
    ...{ route: 'POST /s2s/event', code, body: JSON.stringify(event(change)), headers: bearer(tenant.server_key) },
  })
  const toBulk = (code: string, events: unknown[]): Shot => ({
    ...{ route: 'POST /s2s/events/bulk', code, body: JSON.stringify({ events }), headers: bearer(tenant.server_key) },
  })
  return [
    ...signedShots('POST /event', batch(event())),
    toEvent('ok', batch(event(), event({ event_id: 'e-2', revenue: 'much' }), [], event({ event_id: null }))),
    toEvent('bad_batch_shape', batch()),
    toEvent('cap_exceeded', batch(event()), poor),
    ...signedShots('POST /privacy/delete', '{"install_uuid":"i-9"}'),
    toErase('install_uuid_required', '{}'),
    toErase('invalid_field', '{"install_uuid":"\\u0000"}'),
    ...serverShots('POST /s2s/event', (one) => one, limits.s2s_body_bytes_max),
    toServer('install_uuid_required', { install_uuid: '' }),
    toServer('event_ts_ms_required', { event_ts_ms: null }),
    toServer('event_name_required', { event_name: null }),
    toServer('event_ts_ms_out_of_range', { event_ts_ms: 1 }),
    toServer('bad_event_id', { event_id: ' ' }),
    toServer('invalid_field', { currency: 'XXQ' }),
    ...serverShots('POST /s2s/events/bulk', (one) => ({ events: [one] }), limits.bulk_body_bytes_max),
    toBulk('ok', [event(), 7, { event_name: 'x' }, event({ event_id: 'e-3', event_ts_ms: 1 })]),
    toBulk('too_many_events', Array(limits.bulk_events_max + 1).fill({})),
  ]
}

function reportShots(): Shot[] {
  const keyed = (route: string, code: string, path: string): Shot => ({
    ...{ route, code, path, headers: bearer(tenant.server_key) },
  })
  const guards = (route: string, path: string): Shot[] => [
    { route, code: 'missing_bearer_token', path },
    { route, code: 'invalid_or_revoked_key', path, headers: bearer('srv_0') },
    { route, code: 'company_suspended', path, headers: bearer(suspended.server_key) },
  ]
  const install = 'GET /api/v1/installs/{install_uuid}'
  const reports = operations.filter(({ route }) => route.startsWith('GET /api/v1/reports/'))
  return [
    ...guards(install, '/api/v1/installs/i-1'),
    keyed(install, 'ok', '/api/v1/installs/i-1'),
    keyed(install, 'unknown_install', '/api/v1/installs/nobody'),
    keyed(install, 'not_found', '/api/v1/installs/%zz'),
    ...reports.flatMap(({ route }) => {
      const path = route.slice('GET '.length)
      return [
        ...guards(route, path),
        keyed(route, 'ok', path),
        keyed(route, 'unknown_report', '/api/v1/reports/nothing'),
        keyed(route, 'invalid_since_until', `${path}?since_ms=x`),
        keyed(route, 'since_ms_must_be_less_than_until_ms', `${path}?since_ms=2&until_ms=1`),
        keyed(route, 'window_too_large', `${path}?since_ms=0`),
        keyed(route, 'invalid_limit', `${path}?limit=0`),
        keyed(route, 'invalid_offset', `${path}?offset=-1`),
      ]
    }),
  ]
}

const prefix = '/admin/api/v1'

/** What every route of the admin API answers alike. */
const adminGuards = (): Shot[] =>
  operations
    .filter(({ tags }) => tags[0] === 'Admin')
    .flatMap(({ route, responses }): Shot[] => {
      const path = (route.split(' ')[1] ?? '').replace('{id}', 'none')
      const bytes = route.includes('fx-rates') ? limits.fx_csv_bytes_max : 64 * 1024
      const with_body = codesOf(responses[413] ?? { description: '', content: {} }).length > 0
      return [
        { route, code: 'missing_bearer_token', path },
        { route, code: 'invalid_admin_token', path, headers: bearer('guess') },
        ...(with_body ? [{ ...asAdmin(route, 'body_too_large', path), announced_bytes: bytes + 1 }] : []),
        ...(route.includes('{id}') ? [asAdmin(route, 'not_found', path.replace('none', '%zz'))] : []),
      ]
    })

const asAdmin = (route: string, code: string, path: string, body?: unknown): Shot => ({
  ...{ route, code, path, headers: bearer(admin_token) },
  ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
})

function adminShots(): Shot[] {
  const shot = (route: string, code: string, given: { path?: string; body?: unknown } = {}) => {
    const [method, path = ''] = route.split(' ')
    return asAdmin(`${method} ${prefix}${path}`, code, prefix + (given.path ?? path), given.body)
  }
  const { company_id, app_id, key_id } = other
  const app = { company_id, name: 'One more', platform: 'ios' }
  const rates = 'Date,USD,\n2026-06-01,1.08,\n'
  return [
    ...adminGuards(),
    shot('POST /companies', 'ok', { body: { name: 'One more', plan: 'unlimited' } }),
    shot('POST /companies', 'bad_json', { body: '[' }),
    shot('POST /companies', 'invalid_field', { body: { name: 'x', more: 1 } }),
    shot('GET /companies', 'ok'),
    shot('GET /companies/{id}/usage', 'ok', { path: `/companies/${company_id}/usage` }),
    shot('GET /companies/{id}/usage', 'invalid_field', { path: `/companies/${company_id}/usage?month=may` }),
    shot('GET /companies/{id}/usage', 'unknown_company', { path: '/companies/none/usage' }),
    shot('POST /apps', 'ok', { body: app }),
    shot('POST /apps', 'bad_json', { body: '[' }),
    shot('POST /apps', 'invalid_field', { body: { ...app, platform: 'web' } }),
    shot('POST /apps', 'unknown_company', { body: { ...app, company_id: 'none' } }),
    shot('POST /keys', 'ok', { body: { app_id, label: 'one more' } }),
    shot('POST /keys', 'bad_json', { body: '[' }),
    shot('POST /keys', 'invalid_field', { body: { app_id, label: '' } }),
    shot('POST /keys', 'unknown_app', { body: { app_id: 'none', label: 'x' } }),
    shot('GET /keys', 'ok', { path: `/keys?app_id=${app_id}` }),
    shot('GET /keys', 'invalid_field'),
    shot('GET /keys', 'unknown_app', { path: '/keys?app_id=none' }),
    shot('POST /keys/{id}/revoke', 'ok', { path: `/keys/${key_id}/revoke` }),
    shot('POST /keys/{id}/revoke', 'unknown_key', { path: '/keys/none/revoke' }),
    shot('POST /companies/{id}/suspend', 'ok', { path: `/companies/${company_id}/suspend` }),
    shot('POST /companies/{id}/suspend', 'unknown_company', { path: '/companies/none/suspend' }),
    shot('POST /companies/{id}/reinstate', 'ok', { path: `/companies/${company_id}/reinstate` }),
    shot('POST /companies/{id}/reinstate', 'unknown_company', { path: '/companies/none/reinstate' }),
    shot('POST /fx-rates', 'ok', { body: rates }),
    shot('POST /fx-rates', 'bad_csv', { body: 'Date' }),
    shot('GET /audit-objects', 'invalid_field', { path: '/audit-objects?key=x' }),
    shot('GET /audit-objects', 'unknown_audit_key', {
      path: `/audit-objects?app_id=${app_id}&key=s2s/2026-06-01/none.json`,
    }),
    shot('GET /status', 'ok'),
  ]
}

const check = createChecker(true)
const seen = new Set<string>()

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

function send({ route, path, headers, body, announced_bytes }: Shot): Promise<Answer> {
  const [method, template = ''] = route.split(' ')
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const length = announced_bytes ?? (body === undefined ? undefined : Buffer.byteLength(body))
  const all = { ...headers, ...(length === undefined ? {} : { 'content-length': length }) }
  const asked = request(standalone.url + (path ?? template), { method, headers: all, agent: false }, (answer) => {
    let text = ''
    answer.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    answer.on('end', () => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text })
      asked.destroy()
    })
  })
  asked.on('error', reject)
  if (announced_bytes === undefined) asked.end(body)
  else asked.flushHeaders()
  return promise
}

/** Sends it and says what of the answer the document does not know. */
async function fire(shot: Shot): Promise<string[]> {
  const { route, code } = shot
  const { status, headers, text } = await send(shot)
  const type = headers['content-type']?.split(';')[0] ?? ''
  const value = type === 'application/json' ? JSON.parse(text) : text
  const got = (value as { error?: string }).error ?? 'ok'
  seen.add(`${route} ${got}`)
  const operation = operations.find((one) => one.route === route) as DocumentedOperation
  const response = operation.responses[status]
  const where = `${route} ${code}`
  if (got !== code) return [`${where}: answered ${status} ${text.slice(0, 200)}`]
  if (response === undefined) return [`${where}: ${status} is not documented`]
  const schema = response.content[type]?.schema
  if (schema === undefined) return [`${where}: ${type} is not documented`]
  const fault = check(schema, value)
  const documented = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase())
  const unknown = Object.keys(headers).filter(
    (name) =>
      /^(ratelimit|x-|retry|allow|www)/.test(name) && !documented.includes(name) && name !== 'x-content-type-options',
  )
  return [
    ...(fault === null ? [] : [`${where}: ${fault}`]),
    ...unknown.map((name) => `${where}: header ${name} is not documented`),
    ...(headers['x-request-id'] ? [] : [`${where}: no X-Request-Id`]),
  ]
}

/** Codes that only a failure of something else brings about: tests of the services hold those. */
const by_failure = ['internal_error', 'unavailable', 'audit_write_failed']

it('answers every documented code, in the documented shape and with the documented headers, and nothing else', async () => {
  const wrong: string[] = []
  const public_routes = ['GET /health', 'GET /ready', 'GET /metrics'].map((route): Shot => ({ route, code: 'ok' }))
  for (const shot of [...ingestShots(), ...reportShots(), ...adminShots(), ...public_routes])
    wrong.push(...(await fire(shot)))
  wrong.push(...(await fire(await keptObject())))
  wrong.push(...(await spendRate()))
  expect(wrong).toEqual([])

  const documented = operations.flatMap(({ route, responses }) =>
    Object.values(responses).flatMap((response) => codesOf(response).map((code) => `${route} ${code}`)),
  )
  const unseen = documented.filter((one) => !seen.has(one) && !by_failure.some((code) => one.endsWith(` ${code}`)))
  expect(unseen).toEqual([])
  expect(operations.map(({ route }) => route).filter((route) => !seen.has(`${route} ok`))).toEqual([])
})

/** An audit object that is there. */
async function keptObject(): Promise<Shot> {
  const headers = bearer(tenant.server_key)
  const sent = await fetch(`${standalone.url}/s2s/event`, { method: 'POST', headers, body: JSON.stringify(event()) })
  const { audit_key } = (await sent.json()) as { audit_key: string }
  const query = new URLSearchParams({ key: audit_key, app_id: tenant.app_id })
  return asAdmin(`GET ${prefix}/audit-objects`, 'ok', `${prefix}/audit-objects?${query}`)
}

/** Uses up all requests of a key, then asks each keyed route once more. */
async function spendRate(): Promise<string[]> {
  const headers = bearer(narrow.server_key)
  const ask = () => fetch(`${standalone.url}/api/v1/installs/i-1`, { headers }).then((answer) => answer.arrayBuffer())
  for (let left = limits.key_requests_max; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, ask))
  const keyed = operations.filter(({ tags, responses }) => {
    const refused = responses[429]
    return tags[0] !== 'Admin' && refused !== undefined && codesOf(refused).includes('rate_limited')
  })
  const faults = keyed.map(({ route }) => {
    const [method, path = ''] = route.split(' ')
    const shot = { route, code: 'rate_limited', path: path.replace('{install_uuid}', 'i-1'), headers }
    return fire(method === 'POST' ? { ...shot, body: '{}' } : shot)
  })
  return (await Promise.all(faults)).flat()
}
