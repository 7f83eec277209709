import { parametersOf, report_path, reportNames } from '@tributary/contracts/reports'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { bearer, signed } from '../credentials.ts'
import { mutateText } from '../mutate/mutate-bytes.ts'
import { anyPath } from '../paths.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import { type Draft, strange } from './draft.ts'

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
  const names = [...reportNames, '__proto__', '%00', 'events/', '../events', '']
  const name = random.pick(names)
  const install = declaredRoutes.getInstall.path.replace(':install_uuid', random.pick(['fz-1-0', '%E2%82', ...strange]))
  const known = Object.keys(parametersOf(random.pick(reportNames)).shape)
  const parameters = Array.from({ length: 1 + random.below(4) }, () => {
    const parameter = random.pick(random.chance(0.1) ? ['limit[]', '__proto__', 'app_id', 'since'] : known)
    return `${parameter}=${random.chance(0.1) ? String(Date.now()) : random.pick(numbers)}`
  })
  const path = random.chance(0.2) ? install : `${report_path.replace(':report', name)}?${parameters.join('&')}`
  const method = random.chance(0.85) ? 'GET' : random.pick(['POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])
  const body = method === 'POST' ? Buffer.from('{"limit":1}') : Buffer.alloc(0)
  const { headers } = bearer(random, tenants)
  return { kind: 'report', method, path, headers, body, surface: 'reports', app: null }
}

/** The schema of an app, by its keys and strange tags. */
export function schema(random: Random, tenants: FuzzTenants): Draft {
  const body = Buffer.alloc(0)
  const { headers } = signed(body, random, tenants)
  const tag = random.pick(['*', '"x"', 'W/"x"', ',,,', '"', '\u00ff', 'x'.repeat(5000), ...strange])
  const { path } = declaredRoutes.readCvSchema
  return {
    ...{ kind: 'schema', method: random.chance(0.9) ? 'GET' : 'HEAD', path, body, surface: 'sdk', app: null },
    headers: random.chance(0.5) ? headers : [...headers, ['If-None-Match', tag]],
  }
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
