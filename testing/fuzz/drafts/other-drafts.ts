import { bearer, signed } from '../credentials.ts'
import { mutateText } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { anyPath } from '../paths.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import type { Draft, Header } from './draft.ts'

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
export function report(random: Random, tenants: FuzzTenants): Draft {
  const names = ['events', 'revenue', 'cohorts', 'attribution', '__proto__', '%00', 'events/', '../events', '']
  const install = `/api/v1/installs/${random.pick(['fz-1-0', '__proto__', '%27', '%00', 'x'.repeat(300), '..', '%E2%82', ''])}`
  const parameters = Array.from({ length: 1 + random.below(4) }, () => {
    const known = random.pick(['since_ms', 'until_ms', 'limit', 'offset', 'event_name'])
    const name = random.chance(0.1) ? random.pick(['limit[]', '__proto__', 'app_id', 'since']) : known
    return `${name}=${random.chance(0.1) ? String(Date.now()) : random.pick(numbers)}`
  })
  const path = random.chance(0.2) ? install : `/api/v1/reports/${random.pick(names)}?${parameters.join('&')}`
  const method = random.chance(0.85) ? 'GET' : random.pick(['POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
  const body = method === 'POST' ? Buffer.from('{"limit":1}') : Buffer.alloc(0)
  const { headers } = bearer(random, tenants)
  return { kind: 'report', method, path, headers, body, surface: 'reports', app: null }
}

export function admin(random: Random, tenants: FuzzTenants): Draft {
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
    ['GET', `/dead-letters?topic=${random.pick(['events.accepted.v1', 'x', '%00', '', 'a&topic=b'])}`, null],
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
export function anywhere(random: Random, tenants: FuzzTenants): Draft {
  const method = random.pick(methods)
  const body = random.chance(0.3) ? mutateText('{"events":[]}', random) : Buffer.alloc(0)
  const { headers } = random.chance(0.5) ? bearer(random, tenants) : signed(body, random, tenants)
  return { kind: 'anywhere', method, path: anyPath(random), headers, body, surface: null, app: null }
}
