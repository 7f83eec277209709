import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import { type Draft, type Header, strange } from './draft.ts'

const agents = [
  'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A; wv) AppleWebKit/537.36 Chrome/119.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile Safari/604.1',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36',
  'facebookexternalhit/1.1',
  `Android ${';'.repeat(4000)}`,
  `${'('.repeat(3000)}Android 10; K`,
]

const values = [
  '1',
  '%zz',
  '%ff%E2%82',
  '%0d%0aSet-Cookie:x=y',
  '//evil.example',
  '%F0%9F%98%80'.repeat(600),
  'x'.repeat(5000),
]
const names = [
  'click_id',
  'sub1',
  'sub5',
  'mobile_only',
  'gaid',
  'idfa',
  'url',
  'fallback_url',
  '__proto__',
  'sub1[]',
  '',
]

/** A click with any query by any agent, mostly on a link that is there. */
export function link(random: Random, { link_ids }: FuzzTenants): Draft {
  const link_id = random.pick([...link_ids, ...link_ids, ...strange, 'nothing-here', '%2e%2e'])
  const parameters = Array.from({ length: random.below(8) }, () => `${random.pick(names)}=${random.pick(values)}`)
  const agent = random.chance(0.2)
    ? mutateBytes(Buffer.from(random.pick(agents)), random).toString('hex')
    : random.pick(agents)
  const headers: Header[] = random.chance(0.05) ? [] : [['User-Agent', agent]]
  if (random.chance(0.2)) headers.push(['X-Forwarded-For', random.pick(['8.8.8.8', '::1', 'x', '127.0.0.1, 1.1.1.1'])])
  const path = `${declaredRoutes.followLink.path.replace(':link_id', link_id)}?${parameters.join('&')}`
  const method = random.chance(0.85) ? 'GET' : random.pick(['HEAD', 'POST', 'PUT', 'OPTIONS'])
  return { kind: 'link', method, path, headers, body: Buffer.alloc(0), surface: 'links', app: null }
}
