import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Surface } from '@tributary/contracts/errors'
import { breakHttp } from './broken-http.ts'
import { mutateBytes, mutateGzip, mutateText } from './mutate-bytes.ts'
import { mutateHeaders } from './mutate-headers.ts'
import { mutateJson } from './mutate-json.ts'
import { anyPath } from './paths.ts'
import { type Random, randomOf } from './random.ts'
import type { FuzzApp, FuzzTenants } from './tenants.ts'

export type Header = [name: string, value: string]

export interface FuzzRequest {
  n: number
  kind: string
  method: string
  path: string
  /** All of it, as it goes over the wire. */
  bytes: Buffer
  body: Buffer
  encoding: 'gzip' | null
  /** Whose codes may be answered; null: any, since the path may be anybody's. */
  surface: Surface | null
  /** Whose credentials it has; null: nobody's. */
  app: FuzzApp | null
  /** Events that must be accepted, all of them. */
  valid_events: number | null
  /** It may be no HTTP request, or several. */
  broken: boolean
}

interface Draft {
  kind: string
  method: string
  path: string
  headers: Header[]
  body: Buffer
  surface: Surface | null
  app: FuzzApp | null
  valid_events?: number
}

type Make = (random: Random, n: number, tenants: FuzzTenants) => Draft

/** Request `n` of a run: the same for the same seed, but for times, credentials and what is signed with them. */
export function makeRequest(seed: number, n: number, tenants: FuzzTenants): FuzzRequest {
  const random = randomOf(seed, n)
  if (n % 100 === 0) return finish(valid(random, n, tenants), random, n)
  if (random.chance(0.05)) {
    const draft = pickMake(random)(random, n, { ...tenants, mutated: tenants.broken })
    // answers to HEAD can't be told apart from others on the same connection
    return finish({ ...draft, method: draft.method === 'HEAD' ? 'GET' : draft.method }, random, n, true)
  }
  const draft = pickMake(random)(random, n, tenants)
  return finish(random.chance(0.15) ? mutateHeaders(draft, random) : draft, random, n)
}

/** Shares of a hundred. */
const makes: [share: number, make: Make][] = [
  [50, (random, n, tenants) => sdkBatch(random, n, tenants)],
  [6, (random, n, tenants) => privacy(random, n, tenants)],
  [14, (random, n, tenants) => serverEvent(random, n, tenants)],
  [8, (random, n, tenants) => serverBulk(random, n, tenants)],
  [9, (random, _n, tenants) => report(random, tenants)],
  [4, (random, _n, tenants) => admin(random, tenants)],
  [9, (random, _n, tenants) => anywhere(random, tenants)],
]

function pickMake(random: Random): Make {
  let left = random.below(100)
  for (const [share, make] of makes) {
    if (left < share) return make
    left -= share
  }
  return makes[0]![1]
}

function finish(draft: Draft, random: Random, n: number, broken = false): FuzzRequest {
  const { method, path, headers, body } = draft
  const length: Header[] = body.length > 0 || method === 'POST' ? [['Content-Length', `${body.length}`]] : []
  const head = [['Host', '127.0.0.1'] as Header, ...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`)
  const whole = Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n`, 'latin1'), body])
  const encoding = headers.some(([name, value]) => /^content-encoding$/i.test(name) && /^\s*gzip\s*$/i.test(value))
  return {
    ...draft,
    n,
    kind: broken ? `broken ${draft.kind}` : draft.kind,
    bytes: broken ? breakHttp(whole, random) : whole,
    encoding: encoding ? 'gzip' : null,
    valid_events: draft.valid_events ?? null,
    broken,
  }
}

const names = ['level_up', 'purchase', 'session_start', 'app_install', 'purchase_refunded', '_user_alias', 'tutorial']

/** An event that is accepted as it is. Installs are of this request alone, so that what counts is known whatever comes first. */
function event(random: Random, n: number, index: number) {
  const purchase = random.chance(0.3)
  return {
    event_id: `e-${n}-${index}`,
    event_name: purchase ? 'purchase' : random.pick(names),
    event_ts_ms: Date.now() - random.below(1000),
    install_uuid: `fz-${n}-${random.below(2)}`,
    ...(purchase ? { revenue: 1.25, currency: 'EUR', transaction_id: `t-${n}-${index}`, product_id: 'gems' } : {}),
    ...(random.chance(0.3) ? { user_id: `u-${random.below(50)}` } : {}),
    ...(random.chance(0.5) ? { props: { level: random.below(9), note: 'caf\u00e9', tags: ['a', { b: null }] } } : {}),
    ...(random.chance(0.2) ? { device: { os: 'android', os_version: '15', model: 'x' }, platform: 'android' } : {}),
  }
}

const events = (random: Random, n: number, count = 1 + random.below(random.chance(0.03) ? 60 : 4)) =>
  Array.from({ length: count }, (_, index) => event(random, n, index))

/** Body bytes from JSON that is changed on any of its levels: value, text, compression, bytes. */
function mutatedBody(value: unknown, random: Random): { body: Buffer; headers: Header[] } {
  const text = mutateJson(value, random)
  const plain = random.chance(0.15) ? mutateText(text, random) : Buffer.from(text)
  if (random.chance(0.6)) return { body: random.chance(0.06) ? mutateBytes(plain, random) : plain, headers: [] }
  const named = random.chance(0.9)
    ? 'gzip'
    : random.pick(['GZIP', ' gzip ', 'identity', 'br', 'deflate', 'gzip, gzip', ''])
  return { body: mutateGzip(plain, random), headers: [['Content-Encoding', named]] }
}

const hmac = (secret: string, body: Buffer) => createHmac('sha256', secret).update(body).digest('hex')

/** Half are signed correctly, after the mutation, so that what lies behind the signature is reached. */
function signed(body: Buffer, random: Random, tenants: FuzzTenants): { headers: Header[]; app: FuzzApp | null } {
  const { mutated, suspended, spent, valid: other } = tenants
  const headers = (company_key: string, app_key: string, signature: string): Header[] => [
    ['X-Service-Company-Key', company_key],
    ['X-Service-App-Key', app_key],
    ['X-Service-Signature', signature],
  ]
  const right = ({ company_key, app_key, signing_secret }: FuzzApp) =>
    headers(company_key, app_key, hmac(signing_secret, body))
  if (random.chance(0.5)) return { headers: right(mutated), app: mutated }
  const { company_key, app_key, signing_secret } = mutated
  const signature = hmac(signing_secret, body)
  const wrong = [
    () => right(suspended),
    () => right(spent),
    () => headers(company_key, app_key, hmac(other.signing_secret, body)),
    () => headers(other.company_key, app_key, signature),
    () => headers(company_key, other.app_key, signature),
    () => headers(company_key, app_key, signature.toUpperCase()),
    () => headers(company_key, app_key, mutateBytes(Buffer.from(signature), random).toString('hex')),
    () => headers(company_key, app_key, random.hex(64)),
    () => headers(`co_live_${random.hex(32)}`, `app_live_${random.hex(32)}`, signature),
    () => headers(company_key, `app_live_${random.hex(32)}`, signature),
    () => headers(random.pick(['', ' ', "' OR 1=1 --", 'x'.repeat(5000)]), app_key, signature),
    () => headers(company_key, app_key, signature).filter(() => random.chance(0.6)),
  ]
  const made = random.pick(wrong)()
  // what is left may still be whole
  return { headers: made, app: made.length === 3 && made[2]![1] === signature ? mutated : null }
}

function sdkBatch(random: Random, n: number, tenants: FuzzTenants): Draft {
  const batch = { events: events(random, n), sent_at_ms: Date.now() }
  const { body, headers } = mutatedBody(random.chance(0.5) ? batch : { sent_at_ms: 1, events: batch.events }, random)
  const { headers: credentials, app } = signed(body, random, tenants)
  return {
    kind: 'event',
    method: 'POST',
    path: '/event',
    headers: [...credentials, ...headers],
    body,
    surface: 'sdk',
    app,
  }
}

function privacy(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody({ install_uuid: `gone-${n}` }, random)
  const credentials = signed(body, random, tenants).headers
  const path = '/privacy/delete'
  return {
    kind: 'privacy',
    method: 'POST',
    path,
    headers: [...credentials, ...headers],
    body,
    surface: 'sdk',
    app: null,
  }
}

/** Half have a right key. */
function bearer(random: Random, tenants: FuzzTenants): { headers: Header[]; app: FuzzApp | null } {
  const { mutated, suspended, spent, revoked_key, admin_token } = tenants
  const as = (token: string): Header[] => [['Authorization', `Bearer ${token}`]]
  if (random.chance(0.5)) return { headers: as(random.pick(mutated.server_keys)), app: mutated }
  const key = mutated.server_keys[0]!
  const wrong: (() => Header[])[] = [
    () => as(random.pick(suspended.server_keys)),
    () => as(random.pick(spent.server_keys)),
    () => as(revoked_key),
    () => as(`srv_${random.hex(48)}`),
    () => as(key.toUpperCase()),
    () => as(`${key} ${key}`),
    () => as(admin_token),
    () => as(mutated.company_key),
    () => as(random.pick(['', 'null', 'x'.repeat(9000), '\u00ff\u00fe', "' OR 1=1 --", '../x'])),
    () => [
      ['Authorization', random.pick(['', 'Bearer', 'Bearer ', `Basic ${key}`, `bearer ${key}`, key, `Bearer\t${key}`])],
    ],
    () => [],
  ]
  return { headers: random.pick(wrong)(), app: null }
}

function serverEvent(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody(event(random, n, 0), random)
  const { headers: credentials, app } = bearer(random, tenants)
  const path = '/s2s/event'
  return { kind: 's2s', method: 'POST', path, headers: [...credentials, ...headers], body, surface: 's2s', app }
}

function serverBulk(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody({ events: events(random, n) }, random)
  const { headers: credentials, app } = bearer(random, tenants)
  const path = '/s2s/events/bulk'
  return { kind: 'bulk', method: 'POST', path, headers: [...credentials, ...headers], body, surface: 's2s', app }
}

const numbers = [
  '0',
  '-1',
  '1',
  '1000',
  '1001',
  '1e3',
  '0x10',
  '',
  '%20',
  'NaN',
  '9'.repeat(16),
  '9'.repeat(40),
  '%00',
  '1;2',
  '1.5',
]

/** Mostly refused before the engine is asked: an answer with rows costs as much as a hundred others. */
function report(random: Random, tenants: FuzzTenants): Draft {
  const names = ['events', 'revenue', 'cohorts', 'attribution', '__proto__', '%00', 'events/', '../events', '']
  const install = `/api/v1/installs/${random.pick(['fz-1-0', '__proto__', '%27', '%00', 'x'.repeat(300), '..', '%E2%82', ''])}`
  const parameters = Array.from({ length: 1 + random.below(4) }, () => {
    const name = random.pick(['since_ms', 'until_ms', 'limit', 'offset', 'limit[]', '__proto__', 'app_id'])
    return `${name}=${random.chance(0.1) ? String(Date.now()) : random.pick(numbers)}`
  })
  const path = random.chance(0.2) ? install : `/api/v1/reports/${random.pick(names)}?${parameters.join('&')}`
  const method = random.chance(0.85) ? 'GET' : random.pick(['POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
  const body = method === 'POST' ? Buffer.from('{"limit":1}') : Buffer.alloc(0)
  const { headers } = bearer(random, tenants)
  return { kind: 'report', method, path, headers, body, surface: 'reports', app: null }
}

function admin(random: Random, tenants: FuzzTenants): Draft {
  const { victim, mutated, admin_token } = tenants
  const asked: [method: string, path: string, body: unknown][] = [
    ['POST', '/companies', { name: 'n', plan: 'free', monthly_quota: 1 }],
    ['POST', '/apps', { company_id: victim.company_id, name: 'n', platform: 'ios', bundle_id: 'b', store_id: '1' }],
    ['POST', '/keys', { app_id: mutated.app_id, label: 'l', allowed_events: ['level_up'] }],
    ['POST', '/fx-rates', 'Date,USD,JPY,\n2026-01-05,1.17,180.1,\n'],
    ['POST', `/companies/${victim.company_id}/${random.pick(['suspend', 'reinstate', 'x'])}`, {}],
    ['POST', `/keys/${random.pick([victim.key_id, 'x', '%00', "'"])}/revoke`, {}],
    ['GET', `/keys?app_id=${random.pick([mutated.app_id, 'x', '%00', '', 'a&app_id=b'])}`, null],
    [
      'GET',
      `/companies/${random.pick([mutated.company_id, 'x', '%00'])}/usage?month=${random.pick(['2026-01', '2026-13', '', '%00'])}`,
      null,
    ],
    [
      'GET',
      `/audit-objects?key=${random.pick(['x', '../../etc/passwd', '%00', 's2s/2026-01-01/a.json'])}&app_id=${random.pick([mutated.app_id, '..'])}`,
      null,
    ],
    ['GET', '/status', null],
  ]
  const [method, path, value] = random.pick(asked)
  const text = typeof value === 'string' ? value : value === null ? '' : mutateJson(value, random)
  const body = text === '' || random.chance(0.8) ? Buffer.from(text) : mutateText(text, random)
  // Nearly all that pass make a row, which stays.
  const token = random.chance(0.3)
    ? admin_token
    : random.pick(['', random.hex(48), admin_token.slice(1), `${admin_token}0`])
  const headers: Header[] = [['Authorization', `Bearer ${token}`]]
  return { kind: 'admin', method, path: `/admin/api/v1${path}`, headers, body, surface: 'admin', app: null }
}

const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'REPORT',
  'M-SEARCH',
]

/** Any method on any path, most of which are nobody's. */
function anywhere(random: Random, tenants: FuzzTenants): Draft {
  const method = random.pick(methods)
  const body = random.chance(0.3) ? mutateText('{"events":[]}', random) : Buffer.alloc(0)
  const { headers } = random.chance(0.5) ? bearer(random, tenants) : signed(body, random, tenants)
  return { kind: 'anywhere', method, path: anyPath(random), headers, body, surface: null, app: null }
}

/** An ordinary client's request among all the others. */
function valid(random: Random, n: number, { valid: app }: FuzzTenants): Draft {
  const way = random.below(3)
  const list = events(random, n, way === 1 ? 1 : 12)
  const shared = { method: 'POST', app, kind: 'valid' }
  const authorization: Header[] = [
    ['Authorization', `Bearer ${random.pick(app.server_keys.filter((_, key) => key % 10 !== 8))}`],
  ]
  if (way === 1) {
    const body = Buffer.from(JSON.stringify(list[0]))
    return { ...shared, path: '/s2s/event', headers: authorization, body, surface: 's2s', valid_events: 1 }
  }
  if (way === 2) {
    const body = Buffer.from(JSON.stringify({ events: list }))
    return { ...shared, path: '/s2s/events/bulk', headers: authorization, body, surface: 's2s', valid_events: 12 }
  }
  const body = gzipSync(JSON.stringify({ events: list, sent_at_ms: Date.now() }), { level: 1 })
  const headers: Header[] = [
    ['Content-Encoding', 'gzip'],
    ['X-Service-Company-Key', app.company_key],
    ['X-Service-App-Key', app.app_key],
    ['X-Service-Signature', hmac(app.signing_secret, body)],
  ]
  return { ...shared, path: '/event', headers, body, surface: 'sdk', valid_events: 12 }
}
