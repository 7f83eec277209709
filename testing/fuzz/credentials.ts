import { createHmac } from 'node:crypto'
import type { Header } from './drafts/draft.ts'
import { mutateBytes } from './mutate/mutate-bytes.ts'
import type { Random } from './random.ts'
import type { FuzzApp, FuzzTenants } from './tenants.ts'

export const hmac = (secret: string, body: Buffer) => createHmac('sha256', secret).update(body).digest('hex')

/** Signs half of the mutated bodies correctly, so that requests reach the code behind the signature check. */
export function signed(body: Buffer, random: Random, tenants: FuzzTenants): { headers: Header[]; app: FuzzApp | null } {
  const { mutated, suspended, spent, valid: other } = tenants
  const headers = (company_key: string, app_key: string, signature: string): Header[] => [
    ['X-Service-Company-Key', company_key],
    ['X-Service-App-Key', app_key],
    ['X-Service-Signature', signature],
  ]
  const right = ({ company_key, app_key, signing_secret }: FuzzApp) =>
    headers(company_key, app_key, hmac(signing_secret, body))
  if (random.chance(0.5)) return { headers: right(mutated), app: mutated }
  const { company_key, app_key, signing_secret } = mutated
  const signature = hmac(signing_secret, body)
  const wrong = [
    () => right(suspended),
    () => right(spent),
    () => headers(company_key, app_key, hmac(other.signing_secret, body)),
    () => headers(other.company_key, app_key, signature),
    () => headers(company_key, other.app_key, signature),
    () => headers(company_key, app_key, signature.toUpperCase()),
    () => headers(company_key, app_key, mutateBytes(Buffer.from(signature), random).toString('hex')),
    () => headers(company_key, app_key, random.hex(64)),
    () => headers(`co_live_${random.hex(32)}`, `app_live_${random.hex(32)}`, signature),
    () => headers(company_key, `app_live_${random.hex(32)}`, signature),
    () => headers(random.pick(['', ' ', "' OR 1=1 --", 'x'.repeat(5000)]), app_key, signature),
    () => headers(company_key, app_key, signature).filter(() => random.chance(0.6)),
  ]
  const made = random.pick(wrong)()
  // the remaining headers may still be complete
  return { headers: made, app: made.length === 3 && made[2]![1] === signature ? mutated : null }
}

/** Gives half of the requests a valid key. */
export function bearer(random: Random, tenants: FuzzTenants): { headers: Header[]; app: FuzzApp | null } {
  const { mutated, suspended, spent, revoked_key, admin_token } = tenants
  const as = (token: string): Header[] => [['Authorization', `Bearer ${token}`]]
  if (random.chance(0.5)) return { headers: as(random.pick(mutated.server_keys)), app: mutated }
  const key = mutated.server_keys[0]!
  const wrong: (() => Header[])[] = [
    () => as(random.pick(suspended.server_keys)),
    () => as(random.pick(spent.server_keys)),
    () => as(revoked_key),
    () => as(`srv_${random.hex(48)}`),
    () => as(key.toUpperCase()),
    () => as(`${key} ${key}`),
    () => as(admin_token),
    () => as(mutated.company_key),
    () => as(random.pick(['', 'null', 'x'.repeat(9000), '\u00ff\u00fe', "' OR 1=1 --", '../x'])),
    () => [
      ['Authorization', random.pick(['', 'Bearer', 'Bearer ', `Basic ${key}`, `bearer ${key}`, key, `Bearer\t${key}`])],
    ],
    () => [],
  ]
  return { headers: random.pick(wrong)(), app: null }
}
