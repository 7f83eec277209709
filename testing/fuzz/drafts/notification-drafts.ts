import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { appleNotification, appleTransaction, createAppleAuthority } from '../../stores/apple-authority.ts'
import { googlePush } from '../../stores/google-push-authority.ts'
import { mutateBytes, mutateText } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Random } from '../random.ts'
import type { FuzzTenants } from '../tenants.ts'
import { type Draft, type Header, strange } from './draft.ts'

const { appleNotifies, googleNotifies } = declaredRoutes

/** No service trusts it: what it signs is read as far as certificates are. */
const stranger = createAppleAuthority()

function signedPayload(random: Random): string {
  const signedTransactionInfo = stranger.sign(appleTransaction())
  const jws = stranger.sign(appleNotification({ signedTransactionInfo }))
  const parts = (random.chance(0.5) ? mutateText(jws, random).toString('latin1') : jws).split('.')
  return mutateJson({ signedPayload: parts.slice(0, random.chance(0.9) ? 3 : random.below(3)).join('.') }, random)
}

const push = (random: Random, n: number): string =>
  mutateJson(JSON.parse(googlePush({ eventTimeMillis: random.pick([`${n}`, n, -n, 'x']) })) as object, random)

const tokens = ['Bearer e30.e30.c2ln', 'Bearer', 'Basic YTpi', `Bearer ${'a.'.repeat(300)}`, '']

/** A notification of either store about an app of the run, which nothing proves. */
export function notification(random: Random, n: number, tenants: FuzzTenants): Draft {
  const isApple = random.chance(0.5)
  const text = isApple ? signedPayload(random) : push(random, n)
  const body = random.chance(0.25) ? mutateText(text, random) : Buffer.from(text)
  const app_key = random.chance(0.8) ? tenants.mutated.app_key : random.pick(strange)
  const headers: Header[] = [
    ['Content-Type', 'application/json'],
    ['Authorization', random.pick(tokens)],
  ]
  return {
    ...{
      kind: 'notification',
      method: 'POST',
      headers,
      surface: app_key === tenants.mutated.app_key ? 'postbacks' : null,
    },
    path: (isApple ? appleNotifies : googleNotifies).path.replace(':app_key', app_key),
    body: random.chance(0.05) ? mutateBytes(body, random) : body,
    app: null,
  }
}
