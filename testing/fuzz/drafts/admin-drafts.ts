import { adminRoutes } from '@tributary/contracts/admin/admin-routes'
import type { Route } from '@tributary/contracts/route'
import { mutateText } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import { type Draft, type Header, strange } from './draft.ts'

/**
 * Every declared route whose answer ends by itself, but the run of the eraser: it would erase installs with events that are
 * counted, since mutated requests of erasure and mutated events name the same ones.
 */
const routes: readonly Route[] = Object.values(adminRoutes as Record<string, Route>).filter(
  (route) =>
    route !== adminRoutes.runErasures &&
    Object.values(route.answers).every(({ form }) => form !== 'lines' && form !== 'events'),
)

/** A request to a route of the admin API: what it changes is the victim's alone. */
export function admin(random: Random, tenants: FuzzTenants): Draft {
  const route = random.pick(routes)
  const { method } = route
  const text = bodyText(route, random, tenants)
  const body = text === '' || random.chance(0.8) ? Buffer.from(text) : mutateText(text, random)
  const { admin_token } = tenants
  // Nearly all that pass make a row, which stays.
  const token = random.chance(0.3)
    ? admin_token
    : random.pick(['', random.hex(48), admin_token.slice(1), `${admin_token}0`])
  const headers: Header[] = [['Authorization', `Bearer ${token}`]]
  return { kind: 'admin', method, path: addressOf(route, random, tenants), headers, body, surface: 'admin', app: null }
}

function addressOf({ path, query }: Route, random: Random, { victim, mutated }: FuzzTenants): string {
  const own = path.includes('/companies/') ? victim.company_id : victim.key_id
  const named = path.replaceAll(/:\w+/g, () => (random.chance(0.5) ? own : random.pick(strange)))
  const parameters = Object.entries(query?.shape ?? {}).map(([name, field]) => {
    const { app_id, company_id } = mutated
    const known = new Map<string, unknown>([
      ['app_id', app_id],
      ['company_id', company_id],
    ])
    const right = String(known.get(name) ?? (field as { meta(): { example?: unknown } }).meta().example)
    return `${name}=${random.chance(0.4) ? right : random.pick([...strange, '../../etc/passwd', `a&${name}=b`])}`
  })
  return parameters.length === 0 ? named : `${named}?${parameters.join('&')}`
}

/** The example of the route with ids of this run, mutated. */
function bodyText({ body }: Route, random: Random, { victim, mutated }: FuzzTenants): string {
  if (body === undefined) return ''
  const example = random.pick(Object.values(body.examples))
  if (typeof example === 'string') return example
  const { company_id } = victim
  const ids = Object.entries({ company_id, app_id: mutated.app_id }).filter(([name]) => name in (example as object))
  return mutateJson({ ...(example as object), ...Object.fromEntries(ids) }, random)
}
