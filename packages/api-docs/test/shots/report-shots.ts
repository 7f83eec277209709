import { rawTableNames } from '@tributary/contracts/raw-tables'
import { filtersOf, type ReportName } from '@tributary/contracts/reports'
import { operations } from '../document.ts'
import { bearer, type Companies, type Shot } from '../shot.ts'

/** Every code of the routes that read, `rate_limited` aside. */
export function reportShots({ tenant, suspended, sender, reader }: Companies): Shot[] {
  const keyed = (route: string, code: string, path: string): Shot => ({
    ...{ route, code, path, headers: bearer(tenant.server_key) },
  })
  const guards = (route: string, path: string): Shot[] => [
    { route, code: 'missing_bearer_token', path },
    { route, code: 'invalid_or_revoked_key', path, headers: bearer('srv_0') },
    { route, code: 'company_suspended', path, headers: bearer(suspended.server_key) },
    { route, code: 'scope_missing', path, headers: bearer(sender.server_key) },
  ]
  const install = 'GET /api/v1/installs/{install_uuid}'
  return [
    ...guards(install, '/api/v1/installs/i-1'),
    keyed(install, 'ok', '/api/v1/installs/i-1'),
    keyed(install, 'unknown_install', '/api/v1/installs/nobody'),
    keyed(install, 'not_found', '/api/v1/installs/%zz'),
    ...reportRoutesBelow('/api/v1/reports/').flatMap((route) => {
      const path = route.slice('GET '.length)
      return [...guards(route, path), ...answersOf(route, path, bearer(tenant.server_key))]
    }),
    ...rawTableNames.flatMap((name) => {
      const path = `/api/v1/raw/${name}`
      const route = `GET ${path}`
      return [...guards(route, path), ...rawAnswersOf(route, path, bearer(reader.server_key))]
    }),
  ]
}

/** Every code of what people read of an app, but those that all admin routes have. */
export function rowShots(admin_token: string, { tenant }: Companies): Shot[] {
  const prefix = '/admin/api/v1/apps'
  const headers = bearer(admin_token)
  const own = `${prefix}/${tenant.app_id}`
  const shot = (route: string, code: string, path: string): Shot => ({
    ...{ route: `GET ${prefix}/{app_id}${route}`, code, path, headers },
  })
  const lists = [
    ['/installs', '?limit=0'],
    ['/find', '?q='],
    ['/overview', '?since_ms=1'],
    ['/fraud', '?since_ms=1'],
  ] as const
  const [clicks, all] = ['/links/{link_id}/clicks', '/admin/api/v1/overview']
  const install = '/installs/{install_uuid}'
  return [
    ...reportRoutesBelow(`${prefix}/{app_id}/reports/`).flatMap((route) => [
      ...answersOf(route, route.slice('GET '.length).replace('{app_id}', tenant.app_id), headers),
      { route, code: 'unknown_app', path: `${prefix}/none/reports/events`, headers },
    ]),
    ...lists.flatMap(([route, wrong]) => [
      shot(route, 'ok', `${own}${route}?q=i-1`),
      shot(route, 'invalid_field', `${own}${route}${wrong}`),
      shot(route, 'unknown_app', `${prefix}/none${route}?q=i-1`),
    ]),
    shot('/what-if', 'ok', `${own}/what-if`),
    shot('/what-if', 'invalid_field', `${own}/what-if?reinstall_days=0`),
    shot('/what-if', 'clicks_expired', `${own}/what-if?since_ms=0&until_ms=1`),
    shot('/what-if', 'unknown_app', `${prefix}/none/what-if`),
    shot(clicks, 'ok', `${own}/links/${tenant.link_id}/clicks`),
    shot(clicks, 'invalid_field', `${own}/links/${tenant.link_id}/clicks?group=year`),
    shot(clicks, 'unknown_link', `${own}/links/none/clicks`),
    shot(clicks, 'unknown_app', `${prefix}/none/links/${tenant.link_id}/clicks`),
    { route: `GET ${all}`, code: 'ok', path: all, headers },
    { route: `GET ${all}`, code: 'invalid_field', path: `${all}?since_ms=1`, headers },
    shot(install, 'ok', `${own}/installs/i-1`),
    shot(install, 'unknown_install', `${own}/installs/nobody`),
    shot(install, 'unknown_app', `${prefix}/none/installs/i-1`),
  ]
}

/** Answers of raw data, to a key that may read it. */
function rawAnswersOf(route: string, path: string, headers: Record<string, string>): Shot[] {
  const shot = (code: string, query: string): Shot => ({ route, code, path: `${path}?${query}`, headers })
  return [
    shot('ok', 'since_ms=0&until_ms=1'),
    shot('ok', 'since_ms=0&until_ms=1&format=parquet'),
    shot('unknown_parameter', 'since_ms=0&until_ms=1&limit=1'),
    shot('invalid_since_until', 'since_ms=0'),
    shot('since_ms_must_be_less_than_until_ms', 'since_ms=2&until_ms=1'),
    shot('window_too_large', 'since_ms=0&until_ms=9999999999999'),
    shot('invalid_field', 'since_ms=0&until_ms=1&format=csv'),
  ]
}

const reportRoutesBelow = (prefix: string) =>
  operations.map(({ route }) => route).filter((route) => route.startsWith(`GET ${prefix}`))

/** What a report answers to those who may read it. */
function answersOf(route: string, path: string, headers: Record<string, string>): Shot[] {
  const shot = (code: string, at: string): Shot => ({ route, code, path: at, headers })
  const filters = Object.keys(filtersOf(path.split('/').at(-1) as ReportName))
  return [
    shot('ok', path),
    shot('ok', `${path}?format=csv`),
    { ...shot('ok', `${path}?since_ms=1&until_ms=2`), headers: { ...headers, 'if-none-match': '*' } },
    shot('unknown_report', path.replace(/[^/]+$/, 'nothing')),
    shot('unknown_parameter', `${path}?since=2026-11-01`),
    shot('invalid_since_until', `${path}?since_ms=x`),
    shot('since_ms_must_be_less_than_until_ms', `${path}?since_ms=2&until_ms=1`),
    shot('window_too_large', `${path}?since_ms=0`),
    shot('invalid_limit', `${path}?limit=0`),
    shot('invalid_offset', `${path}?offset=-1`),
    ...['group', 'format'].map((name) => shot('invalid_field', `${path}?${name}=x`)),
    ...filters.map((filter) => shot('invalid_field', `${path}?${filter}=${'x'.repeat(600)}`)),
  ]
}
