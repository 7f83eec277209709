import { gzipSync } from 'node:zlib'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { bearer, hmac, signed } from '../credentials.ts'
import { mutateBytes, mutateGzip, mutateText } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import type { Draft, Header } from './draft.ts'

const { sendBatch, sendServerEvent, sendServerEvents, askForErasure } = declaredRoutes

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

export function sdkBatch(random: Random, n: number, tenants: FuzzTenants): Draft {
  const batch = { events: events(random, n), sent_at_ms: Date.now() }
  const { body, headers } = mutatedBody(random.chance(0.5) ? batch : { sent_at_ms: 1, events: batch.events }, random)
  const { headers: credentials, app } = signed(body, random, tenants)
  return {
    kind: 'event',
    method: 'POST',
    path: sendBatch.path,
    headers: [...credentials, ...headers],
    body,
    surface: 'sdk',
    app,
  }
}

export function privacy(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody({ install_uuid: `gone-${n}` }, random)
  const credentials = signed(body, random, tenants).headers
  const { path } = askForErasure
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

export function serverEvent(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody(event(random, n, 0), random)
  const { headers: credentials, app } = bearer(random, tenants)
  const { path } = sendServerEvent
  return { kind: 's2s', method: 'POST', path, headers: [...credentials, ...headers], body, surface: 's2s', app }
}

export function serverBulk(random: Random, n: number, tenants: FuzzTenants): Draft {
  const { body, headers } = mutatedBody({ events: events(random, n) }, random)
  const { headers: credentials, app } = bearer(random, tenants)
  const { path } = sendServerEvents
  return { kind: 'bulk', method: 'POST', path, headers: [...credentials, ...headers], body, surface: 's2s', app }
}

/** An ordinary client's request among all the others. */
export function valid(random: Random, n: number, { valid: app }: FuzzTenants): Draft {
  const way = random.below(3)
  const list = events(random, n, way === 1 ? 1 : 12)
  const shared = { method: 'POST', app, kind: 'valid' }
  const authorization: Header[] = [['Authorization', `Bearer ${random.pick(app.server_keys)}`]]
  if (way === 1) {
    const body = Buffer.from(JSON.stringify(list[0]))
    return { ...shared, path: sendServerEvent.path, headers: authorization, body, surface: 's2s', valid_events: 1 }
  }
  if (way === 2) {
    const body = Buffer.from(JSON.stringify({ events: list }))
    return { ...shared, path: sendServerEvents.path, headers: authorization, body, surface: 's2s', valid_events: 12 }
  }
  const body = gzipSync(JSON.stringify({ events: list, sent_at_ms: Date.now() }), { level: 1 })
  const headers: Header[] = [
    ['Content-Encoding', 'gzip'],
    ['X-Service-Company-Key', app.company_key],
    ['X-Service-App-Key', app.app_key],
    ['X-Service-Signature', hmac(app.signing_secret, body)],
  ]
  return { ...shared, path: sendBatch.path, headers, body, surface: 'sdk', valid_events: 12 }
}
