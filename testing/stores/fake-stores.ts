import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AppleKey, ServiceAccount } from '@tributary/contracts/receipt/store-credentials'

/** What a fake store does to a request; `hang` never answers, `cut` ends the connection, `flood` never ends its answer. */
export type Behaviour = { status: number; body?: unknown; headers?: Record<string, string> } | 'hang' | 'cut' | 'flood'

export interface FakeStores {
  url: string
  /** A key that this Apple takes, and an account that this Google takes. */
  apple: AppleKey
  google: ServiceAccount
  /** Answers by transaction id (Apple) or purchase token (Google); others are not found. */
  purchases: Map<string, Behaviour>
  /** The next requests of all kinds get these instead. */
  instead: Behaviour[]
  /** Paths of the requests so far. */
  asked: string[]
  close(): Promise<void>
}

const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' }) as string
const apple_not_found = { status: 404, body: { errorCode: 4040010, errorMessage: 'Transaction id not found.' } }
const googleError = (status: number, reason: string): Behaviour => ({
  ...{ status, body: { error: { code: status, errors: [{ domain: 'androidpublisher', reason }] } } },
})

/** Apple and Google on one port of this machine. They verify who asks, as the stores do. Apple may take a key that another one takes. */
export async function openFakeStores(taken?: Pick<FakeStores, 'apple'>): Promise<FakeStores> {
  const apple_key = taken?.apple.key ?? pem(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey)
  const apple_public = createPublicKey(apple_key)
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const apple = {
    ...{ issuer_id: '57246542-96fe-1a63-e053-0824d011072a', key_id: '2X9R4HXF34', key: apple_key },
  }
  const google: ServiceAccount = {
    ...{ type: 'service_account', client_email: 'play@example.iam.gserviceaccount.com', private_key_id: 'k1' },
    private_key: pem(rsa.privateKey),
  }
  const purchases = new Map<string, Behaviour>()
  const [instead, asked]: [Behaviour[], string[]] = [[], []]
  let tokens = 0

  async function behave(request: IncomingMessage, path: string): Promise<Behaviour> {
    const next = instead.shift()
    if (next !== undefined) return next
    const bearer = request.headers.authorization?.replace('Bearer ', '') ?? ''
    if (path === '/token') {
      const assertion = new URLSearchParams(await read(request)).get('assertion') ?? ''
      if (!isSigned(assertion, rsa.publicKey, 'RS256')) return { status: 400, body: { error: 'invalid_grant' } }
      tokens += 1
      return { status: 200, body: { access_token: `token-${tokens}`, expires_in: 3600, token_type: 'Bearer' } }
    }
    const id = decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
    if (path.startsWith('/inApps/'))
      return isSigned(bearer, apple_public, 'ES256') ? (purchases.get(id) ?? apple_not_found) : { status: 401 }
    if (bearer !== `token-${tokens}`) return googleError(401, 'authError')
    return purchases.get(id) ?? googleError(404, 'purchaseTokenNotFound')
  }

  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    void behave(request, path).then((behaviour) => answer(response, behaviour))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, apple, google, purchases, instead, asked },
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function answer(response: ServerResponse, behaviour: Behaviour): void {
  if (behaviour === 'hang') return
  if (behaviour === 'cut') {
    response.destroy()
    return
  }
  if (behaviour === 'flood') {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
    }
    response.on('drain', more)
    more()
    return
  }
  const { status, body = '', headers = {} } = behaviour
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

function isSigned(jwt: string, key: KeyObject, alg: string): boolean {
  const [header = '', claims = '', signature = ''] = jwt.split('.')
  if (signature === '' || JSON.parse(Buffer.from(header, 'base64url').toString()).alg !== alg) return false
  const proof = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(`${header}.${claims}`), { key, dsaEncoding: 'ieee-p1363' }, proof)
}
