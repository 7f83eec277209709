import { limits } from '@tributary/contracts/limits'
import { codesOf, operations } from '../document.ts'
import { bearer, type Companies, type Shot } from '../shot.ts'
import type { SessionHeaders } from './people-shots.ts'

const prefix = '/admin/api/v1'

/**
 * Every code of the admin API but those of accounts. `privacy` is a session that may call little, `kept_key` is the audit key of an object of `tenant` that is there, `ios_app_id` an app
 * without a store id.
 */
export function adminShots(
  admin_token: string,
  { tenant, other }: Companies,
  { kept_key, ios_app_id, privacy }: { kept_key: string; ios_app_id: string; privacy: SessionHeaders },
): Shot[] {
  const shot = shotOf(admin_token)
  const { company_id, app_id, key_id, link_id } = other
  const app = { company_id, name: 'One more', platform: 'ios' }
  const moved = `/apps/${ios_app_id}/move-store-id`
  const costs = `/apps/${app_id}/costs`
  const cost = { day: '2026-06-01', partner: 'acme', cost: 1, currency: 'EUR' }
  const rates = 'Date,USD,\n2026-06-01,1.08,\n'
  return [
    ...adminGuards(admin_token, privacy),
    shot('POST /companies', 'ok', { body: { name: 'One more', plan: 'unlimited' } }),
    shot('POST /companies', 'bad_json', { body: '[' }),
    shot('POST /companies', 'invalid_field', { body: { name: 'x', more: 1 } }),
    shot('GET /companies', 'ok'),
    shot('GET /companies/{id}', 'ok', { path: `/companies/${company_id}` }),
    shot('GET /companies/{id}', 'unknown_company', { path: '/companies/none' }),
    shot('PATCH /companies/{id}', 'ok', { path: `/companies/${company_id}`, body: { plan: 'unlimited' } }),
    shot('PATCH /companies/{id}', 'bad_json', { path: `/companies/${company_id}`, body: '[' }),
    shot('PATCH /companies/{id}', 'invalid_field', { path: `/companies/${company_id}`, body: { plan: 'gold' } }),
    shot('PATCH /companies/{id}', 'unknown_company', { path: '/companies/none', body: {} }),
    shot('GET /companies/{id}/usage', 'ok', { path: `/companies/${company_id}/usage` }),
    shot('GET /companies/{id}/usage', 'invalid_field', { path: `/companies/${company_id}/usage?month=may` }),
    shot('GET /companies/{id}/usage', 'unknown_company', { path: '/companies/none/usage' }),
    shot('GET /companies/{id}/expiring', 'ok', { path: `/companies/${company_id}/expiring?keep_raw_days=30` }),
    shot('GET /companies/{id}/expiring', 'invalid_field', { path: `/companies/${company_id}/expiring` }),
    shot('GET /companies/{id}/expiring', 'unknown_company', { path: '/companies/none/expiring?keep_raw_days=30' }),
    shot('POST /apps', 'ok', { body: app }),
    shot('POST /apps', 'bad_json', { body: '[' }),
    shot('POST /apps', 'invalid_field', { body: { ...app, platform: 'web' } }),
    shot('POST /apps', 'unknown_company', { body: { ...app, company_id: 'none' } }),
    shot('POST /apps', 'ok', { body: { ...app, store_id: '311' } }),
    shot('POST /apps', 'store_id_taken', { body: { ...app, store_id: '311' } }),
    shot('GET /apps', 'ok', { path: `/apps?company_id=${company_id}` }),
    shot('GET /apps', 'invalid_field'),
    shot('GET /apps', 'unknown_company', { path: '/apps?company_id=none' }),
    shot('GET /apps/{id}', 'ok', { path: `/apps/${app_id}` }),
    shot('GET /apps/{id}', 'unknown_app', { path: '/apps/none' }),
    shot('PATCH /apps/{id}', 'ok', { path: `/apps/${app_id}`, body: { name: 'Renamed' } }),
    shot('PATCH /apps/{id}', 'bad_json', { path: `/apps/${app_id}`, body: '[' }),
    shot('PATCH /apps/{id}', 'invalid_field', { path: `/apps/${app_id}`, body: { platform: 'ios' } }),
    shot('PATCH /apps/{id}', 'unknown_app', { path: '/apps/none', body: {} }),
    shot('PATCH /apps/{id}', 'store_id_taken', { path: `/apps/${ios_app_id}`, body: { store_id: '311' } }),
    ...storeShots(shot, app_id),
    shot('POST /apps/{id}/move-store-id', 'ok', { path: moved, body: { store_id: '311' } }),
    shot('POST /apps/{id}/move-store-id', 'bad_json', { path: moved, body: '[' }),
    shot('POST /apps/{id}/move-store-id', 'invalid_field', { path: moved, body: { store_id: '312' } }),
    shot('POST /apps/{id}/move-store-id', 'unknown_app', {
      path: '/apps/none/move-store-id',
      body: { store_id: '311' },
    }),
    shot('POST /apps/{id}/rotate-secret', 'ok', { path: `/apps/${app_id}/rotate-secret`, body: {} }),
    shot('POST /apps/{id}/rotate-secret', 'bad_json', { path: `/apps/${app_id}/rotate-secret`, body: '[' }),
    shot('POST /apps/{id}/rotate-secret', 'invalid_field', {
      path: `/apps/${app_id}/rotate-secret`,
      body: { overlap_hours: -1 },
    }),
    shot('POST /apps/{id}/rotate-secret', 'unknown_app', { path: '/apps/none/rotate-secret', body: {} }),
    ...sharedShots(shot, app_id),
    shot('PUT /apps/{app_id}/costs', 'ok', { path: costs, body: { costs: [cost] } }),
    shot('PUT /apps/{app_id}/costs', 'bad_json', { path: costs, body: '[' }),
    shot('PUT /apps/{app_id}/costs', 'invalid_field', { path: costs, body: {} }),
    shot('PUT /apps/{app_id}/costs', 'unknown_app', { path: '/apps/none/costs', body: { costs: [cost] } }),
    shot('PUT /apps/{app_id}/costs', 'bad_batch_shape', { path: costs, body: { costs: [] } }),
    shot('PUT /apps/{app_id}/costs', 'too_many_costs', { path: costs, body: { costs: Array(1001).fill(cost) } }),
    shot('GET /apps/{app_id}/live', 'ok', { path: `/apps/${app_id}/live?seconds=0` }),
    shot('GET /apps/{app_id}/live', 'invalid_field', { path: `/apps/${app_id}/live?seconds=x` }),
    shot('GET /apps/{app_id}/live', 'unknown_app', { path: '/apps/none/live' }),
    shot('GET /apps/{app_id}/follow', 'ok', { path: `/apps/${app_id}/follow?install_uuid=install-1&seconds=0` }),
    shot('GET /apps/{app_id}/follow', 'invalid_field', { path: `/apps/${app_id}/follow` }),
    shot('GET /apps/{app_id}/follow', 'unknown_app', { path: '/apps/none/follow?install_uuid=install-1' }),
    shot('GET /apps/{app_id}/follow', 'unknown_link', { path: `/apps/${app_id}/follow?link_id=none` }),
    shot('POST /keys', 'ok', { body: { app_id, label: 'one more' } }),
    shot('POST /keys', 'bad_json', { body: '[' }),
    shot('POST /keys', 'invalid_field', { body: { app_id, label: '' } }),
    shot('POST /keys', 'unknown_app', { body: { app_id: 'none', label: 'x' } }),
    shot('GET /keys', 'ok', { path: `/keys?app_id=${app_id}` }),
    shot('GET /keys', 'invalid_field'),
    shot('GET /keys', 'unknown_app', { path: '/keys?app_id=none' }),
    shot('POST /keys/{id}/revoke', 'ok', { path: `/keys/${key_id}/revoke` }),
    shot('POST /keys/{id}/revoke', 'unknown_key', { path: '/keys/none/revoke' }),
    shot('POST /links', 'ok', { body: { app_id, partner: 'documented' } }),
    shot('POST /links', 'bad_json', { body: '[' }),
    shot('POST /links', 'invalid_field', { body: { app_id, partner: 'organic' } }),
    shot('POST /links', 'unknown_app', { body: { app_id: 'none', partner: 'documented' } }),
    shot('GET /links', 'ok', { path: `/links?app_id=${app_id}` }),
    shot('GET /links', 'invalid_field'),
    shot('GET /links', 'unknown_app', { path: '/links?app_id=none' }),
    ...cvSchemaShots(shot, ios_app_id),
    ...['enable', 'disable'].flatMap((act) => [
      shot(`POST /links/{id}/${act}`, 'ok', { path: `/links/${link_id}/${act}` }),
      shot(`POST /links/{id}/${act}`, 'unknown_link', { path: `/links/none/${act}` }),
    ]),
    shot('POST /companies/{id}/suspend', 'ok', { path: `/companies/${company_id}/suspend` }),
    shot('POST /companies/{id}/suspend', 'unknown_company', { path: '/companies/none/suspend' }),
    shot('POST /companies/{id}/reinstate', 'ok', { path: `/companies/${company_id}/reinstate` }),
    shot('POST /companies/{id}/reinstate', 'unknown_company', { path: '/companies/none/reinstate' }),
    shot('POST /fx-rates', 'ok', { body: rates }),
    shot('POST /fx-rates', 'bad_csv', { body: 'Date' }),
    shot('GET /audit-objects', 'ok', {
      path: `/audit-objects?${new URLSearchParams({ key: kept_key, app_id: tenant.app_id })}`,
    }),
    shot('GET /audit-objects', 'invalid_field', { path: '/audit-objects?key=x' }),
    shot('GET /audit-objects', 'unknown_audit_key', {
      path: `/audit-objects?app_id=${app_id}&key=s2s/2026-06-01/none.json`,
    }),
    shot('GET /installs/{install_uuid}/export', 'ok', { path: `/installs/install-1/export?app_id=${tenant.app_id}` }),
    shot('GET /installs/{install_uuid}/export', 'unknown_app', { path: '/installs/install-1/export?app_id=none' }),
    shot('GET /installs/{install_uuid}/export', 'not_found', { path: '/installs/%zz/export' }),
    shot('GET /installs/{install_uuid}/export', 'invalid_field', { path: '/installs/install-1/export' }),
    shot('POST /erasures', 'ok', { body: { app_id, install_uuid: 'asked' } }),
    shot('POST /erasures', 'bad_json', { body: '[' }),
    shot('POST /erasures', 'invalid_field', { body: { app_id, install_uuid: 'a b' } }),
    shot('POST /erasures', 'unknown_app', { body: { app_id: 'none', install_uuid: 'asked' } }),
    shot('GET /erasures', 'ok', { path: `/erasures?app_id=${app_id}&install_uuid=asked` }),
    shot('GET /erasures', 'invalid_field', { path: `/erasures?app_id=${app_id}&install_uuid=a%20b` }),
    shot('GET /erasures', 'unknown_app', { path: `/erasures?app_id=none&install_uuid=asked` }),
    shot('GET /erasures', 'unknown_erasure', { path: `/erasures?app_id=${app_id}&install_uuid=never` }),
    shot('POST /erasures/run', 'ok', { body: {} }),
    shot('POST /erasures/run', 'bad_json', { body: '[' }),
    shot('POST /erasures/run', 'invalid_field', { body: { run: 0 } }),
    shot('POST /erasures/run', 'unknown_erasure', { body: { run: 999 } }),
    shot('GET /dead-letters', 'ok'),
    shot('GET /dead-letters', 'invalid_field', { path: '/dead-letters?topic=none' }),
    shot('POST /dead-letters/retry', 'ok', { body: {} }),
    shot('POST /dead-letters/retry', 'bad_json', { body: '[' }),
    shot('POST /dead-letters/retry', 'invalid_field', { body: { topic: 'none' } }),
    shot('POST /replays', 'ok', { body: { source: 'audit', app_id, dry_run: true } }),
    shot('POST /replays', 'bad_json', { body: '[' }),
    shot('POST /replays', 'invalid_field', { body: { source: 'tape' } }),
    shot('POST /replays', 'unknown_app', { body: { source: 'log', app_id: 'none' } }),
    shot('POST /reconcile', 'ok', { body: { app_id } }),
    shot('POST /reconcile', 'bad_json', { body: '[' }),
    shot('POST /reconcile', 'invalid_field', { body: { since_ms: -1 } }),
    shot('POST /reconcile', 'unknown_app', { body: { app_id: 'none' } }),
    shot('POST /settle', 'ok'),
    shot('POST /retention/run', 'ok', { body: { dry_run: true } }),
    shot('POST /retention/run', 'bad_json', { body: '[' }),
    shot('POST /retention/run', 'invalid_field', { body: { run: 999_999 } }),
    shot('POST /master-key/rotate', 'ok'),
    shot('GET /status', 'ok'),
  ]
}

type MakeShot = (route: string, code: string, given?: { path?: string; body?: unknown }) => Shot

function storeShots(shot: MakeShot, app_id: string): Shot[] {
  const [set, check] = [`/apps/${app_id}/store-credentials`, `/apps/${app_id}/check-store`]
  return [
    shot('PUT /apps/{id}/store-credentials', 'ok', { path: set, body: { apple: null } }),
    shot('PUT /apps/{id}/store-credentials', 'bad_json', { path: set, body: '[' }),
    shot('PUT /apps/{id}/store-credentials', 'invalid_field', { path: set, body: { google: {} } }),
    shot('PUT /apps/{id}/store-credentials', 'unknown_app', { path: '/apps/none/store-credentials', body: {} }),
    shot('POST /apps/{id}/check-store', 'ok', { path: check }),
    shot('POST /apps/{id}/check-store', 'unknown_app', { path: '/apps/none/check-store' }),
  ]
}

function cvSchemaShots(shot: MakeShot, app_id: string): Shot[] {
  const schema = { postbacks: [{ postback_sequence_index: 0, window_hours: 48, fine: [{ value: 0, name: 'opened' }] }] }
  return [
    ...['/cv-schemas', '/cv-schemas/compare'].flatMap((path) => [
      shot(`POST ${path}`, 'ok', { body: { app_id, schema } }),
      shot(`POST ${path}`, 'bad_json', { body: '[' }),
      shot(`POST ${path}`, 'invalid_field', { body: { app_id, schema: { postbacks: [] } } }),
      shot(`POST ${path}`, 'unknown_app', { body: { app_id: 'none', schema } }),
    ]),
    shot('GET /cv-schemas', 'ok', { path: `/cv-schemas?app_id=${app_id}&version=1` }),
    shot('GET /cv-schemas', 'invalid_field', { path: `/cv-schemas?app_id=${app_id}&version=x` }),
    shot('GET /cv-schemas', 'unknown_app', { path: '/cv-schemas?app_id=none' }),
    shot('GET /cv-schemas', 'unknown_cv_schema', { path: `/cv-schemas?app_id=${app_id}&version=99` }),
  ]
}

/** Wrong tokens of several addresses, since one has 60 a minute. The service trusts the proxy that names them. */
const guessOf = (n: number) => ({ ...bearer('guess'), 'x-forwarded-for': `127.0.0.${2 + (n % 4)}` })

/** What every route of the admin API answers alike, by the codes that it documents. */
const adminGuards = (admin_token: string, privacy: SessionHeaders): Shot[] =>
  operations
    .filter(({ tags }) => tags[0] === 'Admin')
    .flatMap(({ route, responses }, n): Shot[] => {
      const path = (route.split(' ')[1] ?? '')
        .replaceAll(/\{(app_|link_)?id\}/g, 'none')
        .replace('{install_uuid}', 'install-1')
      const codes = new Set(Object.values(responses).flatMap(codesOf))
      const { origin, cookie } = privacy
      const own = codes.has('invalid_admin_token') ? bearer(admin_token) : privacy
      const guards: Shot[] = [
        { route, code: 'missing_bearer_token', path },
        { route, code: 'invalid_admin_token', path, headers: guessOf(n) },
        { route, code: 'sign_in_required', path, headers: { origin } },
        { route, code: 'session_ended', path, headers: { ...privacy, cookie: `${cookie.split('=')[0]}=ses_none` } },
        { route, code: 'forged_request', path, headers: { cookie } },
        { route, code: 'body_too_large', path, headers: own, announced_bytes: limits.fx_csv_bytes_max + 1 },
        { route, code: 'not_found', path: path.replace(/\/(none|install-1)/, '/%zz'), headers: privacy },
      ]
      // Routes without credentials have shots of their own.
      const isDoor = !codes.has('invalid_admin_token') && !path.includes('/me') && !path.endsWith('/sign-out')
      return isDoor ? [] : guards.filter(({ code }) => codes.has(code as never))
    })

const asAdmin = (admin_token: string, route: string, code: string, path: string, body?: unknown): Shot => ({
  ...{ route, code, path, headers: bearer(admin_token) },
  ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
})

const shotOf =
  (admin_token: string) =>
  (route: string, code: string, given: { path?: string; body?: unknown } = {}): Shot => {
    const [method, path = ''] = route.split(' ')
    return asAdmin(admin_token, `${method} ${prefix}${path}`, code, prefix + (given.path ?? path), given.body)
  }

/** Every code of saved views and of notes on days. */
function sharedShots(shot: ReturnType<typeof shotOf>, app_id: string): Shot[] {
  const view = { name: 'Spring', address: '/overview' }
  const note = { day: '2026-06-01', text: 'Release' }
  const changes = [
    ['PUT', 'views', view],
    ['POST', 'views/remove', { name: 'Spring' }],
    ['POST', 'notes', note],
    ['POST', 'notes/remove', { note_id: 'none' }],
  ] as const
  return [
    ...['views', 'notes'].flatMap((list) => [
      shot(`GET /apps/{app_id}/${list}`, 'ok', { path: `/apps/${app_id}/${list}` }),
      shot(`GET /apps/{app_id}/${list}`, 'unknown_app', { path: `/apps/none/${list}` }),
    ]),
    ...changes.flatMap(([method, name, body]) => [
      shot(`${method} /apps/{app_id}/${name}`, 'ok', { path: `/apps/${app_id}/${name}`, body }),
      shot(`${method} /apps/{app_id}/${name}`, 'bad_json', { path: `/apps/${app_id}/${name}`, body: '[' }),
      shot(`${method} /apps/{app_id}/${name}`, 'invalid_field', { path: `/apps/${app_id}/${name}`, body: {} }),
      shot(`${method} /apps/{app_id}/${name}`, 'unknown_app', { path: `/apps/none/${name}`, body }),
    ]),
  ]
}
