import { filtersOf, type ReportName } from '@tributary/contracts/reports'
import { operations } from '../document.ts'
import { bearer, type Companies, type Shot } from '../shot.ts'

/** Every code of the routes that read, `rate_limited` aside. */
export function reportShots({ tenant, suspended, sender }: Companies): Shot[] {
  const keyed = (route: string, code: string, path: string): Shot => ({
    ...{ route, code, path, headers: bearer(tenant.server_key) },
  })
  const unchanged = (route: string, path: string): Shot => ({
    ...{ route, code: 'ok', path, headers: { ...bearer(tenant.server_key), 'if-none-match': '*' } },
  })
  const guards = (route: string, path: string): Shot[] => [
    { route, code: 'missing_bearer_token', path },
    { route, code: 'invalid_or_revoked_key', path, headers: bearer('srv_0') },
    { route, code: 'company_suspended', path, headers: bearer(suspended.server_key) },
    { route, code: 'scope_missing', path, headers: bearer(sender.server_key) },
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
      const filters = Object.keys(filtersOf(path.split('/').at(-1) as ReportName))
      return [
        ...guards(route, path),
        keyed(route, 'ok', path),
        keyed(route, 'ok', `${path}?format=csv`),
        unchanged(route, `${path}?since_ms=1&until_ms=2`),
        keyed(route, 'unknown_report', '/api/v1/reports/nothing'),
        keyed(route, 'unknown_parameter', `${path}?since=2026-11-01`),
        keyed(route, 'invalid_since_until', `${path}?since_ms=x`),
        keyed(route, 'since_ms_must_be_less_than_until_ms', `${path}?since_ms=2&until_ms=1`),
        keyed(route, 'window_too_large', `${path}?since_ms=0`),
        keyed(route, 'invalid_limit', `${path}?limit=0`),
        keyed(route, 'invalid_offset', `${path}?offset=-1`),
        ...['group', 'format'].map((name) => keyed(route, 'invalid_field', `${path}?${name}=x`)),
        ...filters.map((filter) => keyed(route, 'invalid_field', `${path}?${filter}=`)),
      ]
    }),
  ]
}
