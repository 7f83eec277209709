import type { Surface } from '@tributary/contracts/errors'
import { breakHttp } from '../mutate/broken-http.ts'
import { mutateHeaders } from '../mutate/mutate-headers.ts'
import { type Random, randomOf } from '../random.ts'
import type { FuzzApp, FuzzTenants } from '../tenants.ts'
import { admin } from './admin-drafts.ts'
import type { Draft, Header, Make } from './draft.ts'
import { privacy, sdkBatch, serverBulk, serverEvent, valid } from './ingest-drafts.ts'
import { link } from './link-drafts.ts'
import { notification } from './notification-drafts.ts'
import { anywhere, report, schema } from './other-drafts.ts'
import { postback } from './postback-drafts.ts'

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

/** Request `n` of a run: the same for the same seed, but for times, credentials and what is signed with them. */
export function makeRequest(seed: number, n: number, tenants: FuzzTenants): FuzzRequest {
  const random = randomOf(seed, n)
  if (n % 100 === 0) return finish(valid(random, n, tenants), random, n)
  if (random.chance(0.05)) {
    const draft = pickMake(random)(random, n, { ...tenants, mutated: tenants.broken })
    // answers to HEAD can't be distinguished from others on the same connection
    return finish({ ...draft, method: draft.method === 'HEAD' ? 'GET' : draft.method }, random, n, true)
  }
  const draft = pickMake(random)(random, n, tenants)
  return finish(random.chance(0.15) ? mutateHeaders(draft, random) : draft, random, n)
}

/** Shares of a hundred. */
const makes: [share: number, make: Make][] = [
  [39, sdkBatch],
  [6, privacy],
  [14, serverEvent],
  [8, serverBulk],
  [9, (random, _n, tenants) => report(random, tenants)],
  [1, (random, _n, tenants) => schema(random, tenants)],
  [4, (random, _n, tenants) => link(random, tenants)],
  [4, (random, n) => postback(random, n)],
  [2, notification],
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
