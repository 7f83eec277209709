import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { bearer, type Companies, event, type Shot } from '../shot.ts'
import type { Tenant } from '../tenants.ts'

/** Every code of the routes that take events and erasures. */
export function ingestShots(companies: Companies): Shot[] {
  const { tenant, poor } = companies
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
    ...signedShots('POST /event', batch(event()), companies),
    toEvent('ok', batch(event(), event({ event_id: 'e-2', revenue: 'much' }), [], event({ event_id: null }))),
    toEvent('bad_batch_shape', batch()),
    toEvent('cap_exceeded', batch(event()), poor),
    ...signedShots('POST /privacy/delete', '{"install_uuid":"i-9"}', companies),
    toErase('install_uuid_required', '{}'),
    toErase('invalid_field', '{"install_uuid":"\\u0000"}'),
    ...serverShots('POST /s2s/event', (one) => one, limits.s2s_body_bytes_max, companies),
    toServer('install_uuid_required', { install_uuid: '' }),
    toServer('event_ts_ms_required', { event_ts_ms: null }),
    toServer('event_name_required', { event_name: null }),
    toServer('event_ts_ms_out_of_range', { event_ts_ms: 1 }),
    toServer('bad_event_id', { event_id: ' ' }),
    toServer('invalid_field', { currency: 'XXQ' }),
    ...serverShots('POST /s2s/events/bulk', (one) => ({ events: [one] }), limits.bulk_body_bytes_max, companies),
    toBulk('ok', [event(), 7, { event_name: 'x' }, event({ event_id: 'e-3', event_ts_ms: 1 })]),
    toBulk('too_many_events', Array(limits.bulk_events_max + 1).fill({})),
  ]
}

/** Every code of the route of costs. */
export function costShots({ tenant, suspended, buyer }: Companies): Shot[] {
  const route = 'PUT /api/v1/costs'
  const cost = { day: '2026-06-01', partner: 'acme', cost: 1.5, currency: 'EUR' }
  const shot = (code: string, body: unknown, headers: Record<string, string> = {}, as = buyer): Shot => ({
    ...{ route, code, body: Buffer.isBuffer(body) ? body : JSON.stringify(body) },
    headers: { ...bearer(as.server_key), ...headers },
  })
  const good = { costs: [cost, { ...cost, country: 'XX' }, 7], as_of_ms: 1 }
  const zipped = gzipSync(JSON.stringify(good))
  return [
    shot('ok', good),
    shot('ok', zipped, gzip),
    { ...shot('missing_bearer_token', good), headers: {} },
    shot('unknown_or_revoked_key', good, bearer('srv_0')),
    shot('company_suspended', good, {}, suspended),
    shot('scope_missing', good, {}, tenant),
    { ...shot('body_too_large', good), announced_bytes: limits.costs_body_bytes_max + 1 },
    shot('unsupported_encoding', good, { 'content-encoding': 'br' }),
    shot('bad_gzip', zipped.subarray(0, -4), gzip),
    shot('bad_json', []),
    shot('bad_batch_shape', { costs: [] }),
    shot('too_many_costs', { costs: Array(limits.costs_max + 1).fill({}) }),
  ]
}

/** Every code of the route of schemas. */
export function schemaShots({ tenant, other, suspended }: Companies): Shot[] {
  const shot = (code: string, headers: Record<string, string> = {}, as = tenant): Shot => {
    const { 'x-service-signature': _none, ...keys } = signed(as, '')
    return { route: 'GET /skan/cv-schema', code, headers: { ...keys, ...headers } as Record<string, string> }
  }
  return [
    shot('ok'),
    shot('ok', { 'if-none-match': '*' }),
    { route: 'GET /skan/cv-schema', code: 'missing_auth_headers' },
    shot('unknown_company_key', { 'x-service-company-key': 'co_live_0' }),
    shot('unknown_app_key', { 'x-service-app-key': 'app_live_0' }),
    shot('company_suspended', {}, suspended),
    shot('app_company_mismatch', { 'x-service-company-key': other.company_key }),
  ]
}

function signedShots(route: string, good: string, { tenant, other, suspended }: Companies): Shot[] {
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

function serverShots(
  route: string,
  wrap: (event: object) => unknown,
  bytes_max: number,
  { tenant, suspended, narrow, poor, analyst }: Companies,
): Shot[] {
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
    shot('scope_missing', good, {}, analyst),
    { ...shot('body_too_large', good), announced_bytes: bytes_max + 1 },
    shot('unsupported_encoding', good, { 'content-encoding': 'br' }),
    shot('bad_gzip', zipped.subarray(0, -4), gzip),
    shot('bad_json', []),
    shot('s2s_app_platform_mismatch', wrap(event({ platform: 'ios' }))),
    shot('event_not_allowed_by_key', good, {}, narrow),
    shot('cap_exceeded', good, {}, poor),
  ]
}

export const signed = (as: Tenant, body: string | Buffer): Record<string, string> => ({
  'x-service-company-key': as.company_key,
  'x-service-app-key': as.app_key,
  'x-service-signature': createHmac('sha256', as.signing_secret).update(body).digest('hex'),
})
const gzip = { 'content-encoding': 'gzip' }
const spaces = (bytes: number) => Buffer.alloc(bytes, ' ')
