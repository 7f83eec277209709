import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type KoaContextWithOIDC } from 'oidc-provider'

/** What the provider says of an account; `sub` is its name there. */
export type ProviderClaims = Record<string, unknown>

/** An identity provider that runs: signs in whom a test names, without a page. */
export interface TestIdentityProvider {
  issuer: string
  client_id: string
  client_secret: string
  /** Accounts by subject. */
  accounts: Map<string, ProviderClaims>
  /** Signs in at an address of the provider, and returns the one to which it sends the browser back. */
  signIn(authorization_url: string, subject: string): Promise<URL>
  /** Changes the claims of id tokens, which are signed again; null: none. */
  alter: ((claims: ProviderClaims) => ProviderClaims) | null
  /** Signs altered id tokens with a key that is not its own. */
  forges: boolean
  close(): Promise<void>
}

const client_id = 'tributary'
const newKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

/** Starts one that sends browsers back to this address; null: to any. `email_in`: where it gives claims besides the subject. */
export async function startIdentityProvider(
  redirect_uri: string | null,
  { email_in = 'id token' }: { email_in?: 'id token' | 'userinfo' } = {},
): Promise<TestIdentityProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client_secret = randomBytes(24).toString('hex')
  const keys = newKey()
  const jwk = { ...keys.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }
  const accounts = new Map<string, ProviderClaims>()
  let next_subject = ''
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id,
        client_secret,
        redirect_uris: [redirect_uri ?? 'http://localhost/'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [jwk as never] },
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'roles'] },
    conformIdTokenClaims: email_in === 'userinfo',
    cookies: { keys: [randomBytes(16).toString('hex')] },
    ttl: { AuthorizationCode: 600, Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...accounts.get(sub) }) }),
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId: client_id, accountId: oidc.session!.accountId! })
      grant.addOIDCScope('openid email')
      await grant.save()
      return grant
    },
    renderError: (ctx, out) => {
      ctx.body = out
    },
  })
  if (redirect_uri === null) provider.Client.prototype.redirectUriAllowed = () => true
  const own = { issuer, client_id, client_secret, accounts, alter: null, forges: false } as Omit<
    TestIdentityProvider,
    'signIn' | 'close'
  >
  provider.use(async (ctx: KoaContextWithOIDC, next) => {
    if (ctx.path.startsWith('/interaction/')) {
      ctx.respond = false
      return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: next_subject } })
    }
    await next()
    const body = ctx.body as { id_token?: string } | undefined
    if (ctx.path === '/token' && body?.id_token && own.alter) body.id_token = sign(own.alter(claimsOf(body.id_token)))
  })
  const sign = (claims: ProviderClaims): string => {
    const text = `${encode({ alg: 'RS256', kid: 'test' })}.${encode(claims)}`
    return `${text}.${createSign('sha256')
      .update(text)
      .sign(own.forges ? newKey() : keys, 'base64url')}`
  }
  server.on('request', provider.callback())
  return Object.assign(own, {
    async signIn(authorization_url: string, subject: string) {
      next_subject = subject
      return follow(authorization_url, issuer)
    },
    close: () => closeServer(server),
  })
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/** As a browser that nobody has signed in with. */
async function follow(address: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let at = new URL(address)
  for (let steps = 0; at.origin === issuer; steps += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } })
    const location = answer.headers.get('location')
    if (location === null || steps > 9) throw new Error(`${at} answered ${answer.status} ${await answer.text()}`)
    for (const one of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
      cookies.set(name, value)
    }
    at = new URL(location, at)
  }
  return at
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => void server.close(() => resolve()))
}
