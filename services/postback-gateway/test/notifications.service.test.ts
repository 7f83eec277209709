import { createHash, generateKeyPairSync } from 'node:crypto'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { proveNotification } from '@tributary/stores/prove-notification'
import { provePush } from '@tributary/stores/push-token'
import type { NotifiedApp } from '@tributary/tenancy/stores/notified-apps'
import {
  appleNotification,
  appleTransaction,
  createAppleAuthority,
  headerOf,
  signJws,
} from '@tributary/testing/stores/apple-authority'
import { createGooglePushAuthority, googlePush } from '@tributary/testing/stores/google-push-authority'
import { describe, expect, it, test } from 'vitest'
import { openGateway } from './gateway.ts'

const now_ms = Date.UTC(2026, 5, 1, 12)
const apple = createAppleAuthority()
const google = createGooglePushAuthority(() => now_ms)
const email = 'push@example.iam.gserviceaccount.com'
const public_url = 'https://events.example.com'

const appOf = (n: number, more: Partial<NotifiedApp>): [string, NotifiedApp] => [
  `app_live_${`${n}`.padStart(32, '0')}`,
  {
    ...{ app_id: `app_${n}`, company_id: 'co_1', platform: 'ios', bundle_id: 'com.example.run' },
    ...{ google_push_audience: null, google_push_email: email },
    ...more,
  },
]
const apps = new Map([
  appOf(1, { platform: 'ios' }),
  appOf(2, { platform: 'android' }),
  appOf(3, { platform: 'android', google_push_email: null }),
  appOf(4, { platform: 'android', google_push_audience: 'https://my.audience/' }),
  appOf(5, { bundle_id: null }),
])
const keyOf = (n: number) => `app_live_${`${n}`.padStart(32, '0')}`
const ofApple = `/store/apple/${keyOf(1)}`
const ofGoogle = `/store/google/${keyOf(2)}`

/** The gateway, and the keys of Google as they are published; null: Google is away. */
async function openDoors(given: { public_url?: string | undefined } = { public_url }) {
  const published = { jwks: google.jwks as string | null, fetches: 0 }
  const clock = { now_ms }
  const push = provePush({
    now: () => clock.now_ms,
    async ask() {
      published.fetches += 1
      if (published.jwks === null) throw new Error('away')
      return { status: 200, text: published.jwks }
    },
  })
  const prove = proveNotification([apple.root.certificate])
  const storeProofs = { apple: async () => prove, google: async () => push }
  const database = { fault: null as Error | null }
  const notifiedApps = {
    async find(key: string) {
      if (database.fault) throw database.fault
      return apps.get(key) ?? null
    },
  }
  const gateway = await openGateway({ clock, doors: { notifiedApps, storeProofs, ...given } })
  const nothingStored = () => expect([gateway.notified(), gateway.audited()]).toEqual([[], []])
  return { ...gateway, database, published, nothingStored }
}

const signedPayload = (payload: object, sign = apple.sign) => JSON.stringify({ signedPayload: sign(payload) })
const renewal = (transaction: object = {}, data: object = {}, more: object = {}) => {
  const of = { type: 'Auto-Renewable Subscription', originalTransactionId: '100', transactionId: '101', ...transaction }
  return appleNotification({ signedTransactionInfo: apple.sign(appleTransaction(of)), ...data }, more)
}
const audience = `${public_url}${ofGoogle}`
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const byGoogle = (claims: object = {}, header: object = {}) =>
  bearer(google.token({ aud: audience, email, ...claims }, header))

describe('a notification of Apple', () => {
  it('is in the audit store to the letter and on the log, with its transaction, when it is answered', async () => {
    const gateway = await openDoors()
    const body = ` ${signedPayload(renewal())} `
    expect(await gateway.send(body, { path: ofApple })).toMatchObject({ status: 200, body: '{"ok":true}' })
    const audit_key = expect.stringMatching(
      /^notifications\/2026\/06\/01\/co_1\/app_1\/1780315200000-test-\d+\.jsonl\.gz$/,
    )
    expect(gateway.notified()).toEqual([
      {
        ...{ v: 1, app_id: 'app_1', company_id: 'co_1', store: 'apple', received_at_ms: now_ms, audit_key },
        notification_id: 'b1a4cf0e-7a2e-4ad6-8f3e-2a7a3c1b6f10',
        apple: {
          ...{
            type: 'DID_RENEW',
            subtype: '',
            environment: 'Production',
            signed_at_ms: Date.UTC(2026, 5, 1, 0, 0, 10),
          },
          transaction: expect.objectContaining({ transactionId: '101', originalTransactionId: '100', price: 4990 }),
        },
        google: null,
      },
    ])
    expect(gateway.audited()).toEqual([{ key: audit_key, store: 'apple', received_at_ms: now_ms, body }])
    expect(gateway.recordsOf({ name: 'stores.notified.v1' } as never)[0]?.key).toBe('app_1/100')
  })

  it('of the sandbox, without a transaction, or of another part than data is kept too', async () => {
    const gateway = await openDoors()
    const other = { environment: 'Sandbox', bundleId: 'com.example.run' }
    const bodies = [
      renewal({ environment: 'Sandbox' }, { environment: 'Sandbox' }),
      appleNotification({}, { notificationType: 'TEST', subtype: undefined }),
      appleNotification({}, { notificationType: 'RENEWAL_EXTENSION', data: undefined, summary: other }),
      appleNotification(
        {},
        { notificationType: 'NEW_TYPE', data: undefined, externalPurchaseToken: { bundleId: other.bundleId } },
      ),
    ]
    for (const body of bodies) expect((await gateway.send(signedPayload(body), { path: ofApple })).status).toBe(200)
    const kept = gateway.notified().map(({ apple }) => [apple?.type, apple?.environment, apple?.transaction === null])
    expect(kept.toSorted()).toEqual([
      ['DID_RENEW', 'Sandbox', false],
      ['NEW_TYPE', null, true],
      ['RENEWAL_EXTENSION', 'Sandbox', true],
      ['TEST', 'Production', true],
    ])
  })

  it('shares a partition with the others about its purchase, in their order', async () => {
    const gateway = await openDoors()
    const ids = Array.from({ length: 6 }, (_, n) => `n-${n}`)
    for (const [n, notificationUUID] of ids.entries())
      await gateway.send(signedPayload(renewal({ transactionId: `${n}` }, {}, { notificationUUID })), { path: ofApple })
    expect(
      new Set(gateway.recordsOf({ name: 'stores.notified.v1' } as never).map(({ partition }) => partition)).size,
    ).toBe(1)
    expect(gateway.notified().map(({ notification_id }) => notification_id)).toEqual(ids)
  })

  it('is taken again when Apple sends it again, under the same id', async () => {
    const gateway = await openDoors()
    const body = signedPayload(renewal())
    for (const _ of [1, 2]) expect((await gateway.send(body, { path: ofApple })).status).toBe(200)
    const [one, two] = gateway.notified()
    expect(two?.notification_id).toBe(one?.notification_id)
  })

  const expired = createAppleAuthority({ from_ms: Date.UTC(2024, 0, 1), until_ms: Date.UTC(2025, 0, 1) })
  const stranger = createAppleAuthority()
  const { leaf, intermediate, root } = apple
  const strange = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const header = headerOf(leaf, intermediate, root)
  const [signed_header = '', , signature = ''] = apple.sign(renewal()).split('.')
  test.each([
    ['a signature of a stranger below the chain of Apple', signJws(header, renewal(), strange)],
    [
      'another payload below the signature',
      `${signed_header}.${encode(renewal({}, {}, { subtype: 'x' }))}.${signature}`,
    ],
    ['the chain of another root', stranger.sign(renewal())],
    [
      'another chain that names the root of Apple',
      stranger.sign(renewal(), headerOf(stranger.leaf, stranger.intermediate, root)),
    ],
    ['the algorithm none', `${encode({ ...header, alg: 'none' })}.${encode(renewal())}.`],
    ['the algorithm HS256', apple.sign(renewal(), { ...header, alg: 'HS256' })],
    ['a certificate that had expired', expired.sign(renewal())],
    ['another bundle id', apple.sign(renewal({}, { bundleId: 'com.example.other' }))],
    ['no bundle id', apple.sign({ ...renewal(), data: undefined })],
    [
      'a part of another app beside its own',
      apple.sign(renewal({}, {}, { summary: { bundleId: 'com.example.other' } })),
    ],
    ['a transaction of another app', apple.sign(renewal({ bundleId: 'com.example.other' }))],
    [
      'a transaction that a stranger signed',
      apple.sign(renewal({}, { signedTransactionInfo: stranger.sign(appleTransaction()) })),
    ],
    ['a transaction of Xcode', apple.sign(renewal({ environment: 'Xcode' }))],
    ['the environment Xcode', apple.sign(renewal({}, { environment: 'Xcode' }))],
    ['the environment LocalTesting', apple.sign(renewal({}, { environment: 'LocalTesting' }))],
    ['a signed transaction instead of a notification', apple.sign(appleTransaction())],
    ['a notification without its id', apple.sign(renewal({}, {}, { notificationUUID: '' }))],
    ['no JWS', 'signed'],
  ])('with %s is not proven, and nothing is stored', async (_what, jws) => {
    const gateway = await openDoors()
    const body = JSON.stringify({ signedPayload: jws })
    expect(await gateway.send(body, { path: ofApple })).toMatchObject({ status: 401, code: 'bad_token' })
    gateway.nothingStored()
    // The chain of Apple is remembered from a good one.
    expect((await gateway.send(signedPayload(renewal()), { path: ofApple })).status).toBe(200)
    expect((await gateway.send(body, { path: ofApple })).code).toBe('bad_token')
    expect(gateway.notified()).toHaveLength(1)
    expect(await gateway.count('tributary_store_notifications_total')).toMatchObject([
      { labels: { store: 'apple', outcome: 'refused' }, value: 2 },
      { labels: { store: 'apple', outcome: 'stored' }, value: 1 },
    ])
  })

  test.each([
    ['on Android', keyOf(2)],
    ['without a bundle id', keyOf(5)],
  ])('about an app %s is not proven', async (_what, key) => {
    const gateway = await openDoors()
    expect((await gateway.send(signedPayload(renewal()), { path: `/store/apple/${key}` })).code).toBe('bad_token')
    gateway.nothingStored()
  })
})

describe('a notification of Google', () => {
  it('is in the audit store to the letter and on the log when it is answered, and its token nowhere', async () => {
    const gateway = await openDoors()
    const body = googlePush()
    const headers = byGoogle()
    expect(await gateway.send(body, { path: ofGoogle, headers })).toMatchObject({ status: 200, body: '{"ok":true}' })
    const audit_key = expect.stringMatching(/^notifications\/2026\/06\/01\/co_1\/app_2\//)
    expect(gateway.notified()).toEqual([
      {
        ...{
          v: 1,
          app_id: 'app_2',
          company_id: 'co_1',
          store: 'google',
          received_at_ms: now_ms,
          audit_key,
          apple: null,
        },
        notification_id: '136969346945',
        google: {
          ...{ event_time_ms: Date.UTC(2026, 5, 1), kind: 'subscription', notification_type: 2 },
          ...{ purchase_token: 'token-of-a-purchase', product_id: 'gold', order_id: null },
          ...{ refund_type: null, product_type: null },
        },
      },
    ])
    expect(gateway.audited()).toEqual([{ key: audit_key, store: 'google', received_at_ms: now_ms, body }])
    const original = createHash('sha256').update('token-of-a-purchase').digest('hex')
    expect(gateway.recordsOf({ name: 'stores.notified.v1' } as never)[0]?.key).toBe(`app_2/${original}`)
    const trace = headers.authorization.split('.')[1]!
    expect(JSON.stringify([gateway.notified(), gateway.audited(), gateway.logLines])).not.toContain(trace)
  })

  const none = { subscriptionNotification: undefined }
  test.each([
    ['test', { ...none, testNotification: { version: '1.0' } }, {}],
    ['other', none, {}],
    [
      'one_time',
      { ...none, oneTimeProductNotification: { notificationType: 1, purchaseToken: 't', sku: 'coins' } },
      { notification_type: 1, purchase_token: 't', product_id: 'coins' },
    ],
    [
      'voided',
      { ...none, voidedPurchaseNotification: { purchaseToken: 't', orderId: 'GPA.1', productType: 2, refundType: 1 } },
      { purchase_token: 't', order_id: 'GPA.1', product_type: 2, refund_type: 1 },
    ],
  ])('of the kind %s is kept', async (kind, notification, facts) => {
    const gateway = await openDoors()
    expect((await gateway.send(googlePush(notification), { path: ofGoogle, headers: byGoogle() })).status).toBe(200)
    const nothing = { notification_type: null, purchase_token: null, product_id: null, order_id: null }
    const voided = { refund_type: null, product_type: null }
    expect(gateway.notified()[0]?.google).toEqual({
      ...{ event_time_ms: Date.UTC(2026, 5, 1), kind, ...nothing, ...voided, ...facts },
    })
  })

  const other = createGooglePushAuthority(() => now_ms)
  const unknown = createGooglePushAuthority(() => now_ms, 'google-2')
  const past_s = now_ms / 1000 - 3600
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const good = google.token({ aud: audience, email })
  test.each([
    ['no token', {}],
    ['no JWT', bearer('token')],
    ['another audience', byGoogle({ aud: 'https://evil.example/' })],
    ['the audience of another app', byGoogle({ aud: `${public_url}/store/google/${keyOf(4)}` })],
    ['another service account', byGoogle({ email: 'other@example.iam.gserviceaccount.com' })],
    ['an address that is not verified', byGoogle({ email_verified: false })],
    ['no address', byGoogle({ email: undefined })],
    ['another issuer', byGoogle({ iss: 'https://evil.example' })],
    ['an end in the past', byGoogle({ iat: past_s - 3600, exp: past_s })],
    ['no end', byGoogle({ exp: undefined })],
    ['the signature of another key', bearer(other.token({ aud: audience, email }))],
    ['a key that Google does not publish', bearer(unknown.token({ aud: audience, email }))],
    ['the algorithm none', bearer(`${encode({ alg: 'none', kid: 'google-1' })}.${good.split('.')[1]}.`)],
    ['the algorithm HS256', byGoogle({}, { alg: 'HS256' })],
    ['more than a token has', bearer(`${good}${'a'.repeat(limits.google_token_chars_max)}`)],
  ])('with %s is not proven, and nothing is stored', async (_what, headers) => {
    const gateway = await openDoors()
    expect(await gateway.send(googlePush(), { path: ofGoogle, headers })).toMatchObject({
      status: 401,
      code: 'bad_token',
    })
    gateway.nothingStored()
    expect((await gateway.send(googlePush(), { path: ofGoogle, headers: byGoogle() })).status).toBe(200)
  })

  it('about another package, an app without a service account, or one on iOS is not proven', async () => {
    const gateway = await openDoors()
    const sent = [
      await gateway.send(googlePush({ packageName: 'com.example.other' }), { path: ofGoogle, headers: byGoogle() }),
      ...(await Promise.all(
        [1, 3].map((n) => {
          const path = `/store/google/${keyOf(n)}`
          return gateway.send(googlePush(), { path, headers: byGoogle({ aud: `${public_url}${path}` }) })
        }),
      )),
    ]
    expect(sent.map(({ code }) => code)).toEqual(['bad_token', 'bad_token', 'bad_token'])
    gateway.nothingStored()
  })

  it('names the audience of the app where it has one, and no other', async () => {
    const gateway = await openDoors()
    const path = `/store/google/${keyOf(4)}`
    const send = async (aud: string) => (await gateway.send(googlePush(), { path, headers: byGoogle({ aud }) })).status
    expect([await send(`${public_url}${path}`), await send('https://my.audience/')]).toEqual([401, 200])
  })

  it('names the address of the request where the service has no public one', async () => {
    const gateway = await openDoors({})
    const send = async (aud: string) => {
      const headers = { ...byGoogle({ aud }), host: 'go.example.com' }
      return (await gateway.send(googlePush(), { path: ofGoogle, headers })).status
    }
    expect(await send(`https://go.example.com${ofGoogle}`)).toBe(200)
    expect(await send(`https://other.example.com${ofGoogle}`)).toBe(401)
  })

  it('is 503 while nobody knows the keys of Google, and taken once they are there', async () => {
    const gateway = await openDoors()
    gateway.published.jwks = null
    const send = () => gateway.send(googlePush(), { path: ofGoogle, headers: byGoogle() })
    for (const _ of [1, 2])
      expect(await send()).toMatchObject({ status: 503, code: 'unavailable', headers: { 'retry-after': '1' } })
    gateway.nothingStored()
    expect(gateway.published.fetches).toBe(1)
    gateway.published.jwks = google.jwks
    gateway.clock.now_ms += limits.google_certs_retry_ms
    expect((await send()).status).toBe(200)
  })

  it('is proven by the last keys for a day while Google is away, and by a new key as soon as Google has it', async () => {
    const gateway = await openDoors()
    const at = (headers: Record<string, string>) => gateway.send(googlePush(), { path: ofGoogle, headers })
    const later = createGooglePushAuthority(() => gateway.clock.now_ms, 'google-3')
    const valid = () => byGoogle({ iat: gateway.clock.now_ms / 1000, exp: gateway.clock.now_ms / 1000 + 60 })
    expect((await at(valid())).status).toBe(200)
    gateway.published.jwks = null
    gateway.clock.now_ms += limits.google_certs_stale_ms_max - 1000
    expect((await at(valid())).status).toBe(200)
    gateway.clock.now_ms += 1000
    expect((await at(valid())).status).toBe(503)
    gateway.published.jwks = later.jwks
    gateway.clock.now_ms += limits.google_certs_retry_ms
    expect((await at(bearer(later.token({ aud: audience, email })))).status).toBe(200)
    expect((await at(valid())).code).toBe('bad_token') // Google has taken that key away
  })

  it('of keys that nobody knows makes few requests to Google', async () => {
    const gateway = await openDoors()
    for (let n = 0; n < 20; n++) {
      const headers = bearer(createGooglePushAuthority(() => now_ms, `made-up-${n}`).token({ aud: audience, email }))
      expect((await gateway.send(googlePush(), { path: ofGoogle, headers })).code).toBe('bad_token')
    }
    expect(gateway.published.fetches).toBe(1)
    gateway.nothingStored()
  }, 60_000)
})

describe.each([
  ['Apple', ofApple, () => signedPayload(renewal()), () => ({})],
  ['Google', ofGoogle, () => googlePush(), () => byGoogle()],
] as const)('a notification of %s', (_store, path, body, headers) => {
  const large = (bytes: number) => {
    const text = body().slice(0, -1)
    return `${text},"more":"${'x'.repeat(bytes - text.length - 11)}"}`
  }

  test.each([
    ['no JSON', 'x', 400, 'bad_json'],
    ['no object', '[]', 400, 'bad_json'],
    ['another object', '{}', 400, 'bad_json'],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'bad_json'],
    ['more than 64 KiB', large(limits.store_notification_bytes_max + 1), 413, 'body_too_large'],
  ])('that is %s is refused, and nothing is stored', async (_what, wrong, status, code) => {
    const gateway = await openDoors()
    expect(await gateway.send(wrong, { path, headers: headers() })).toMatchObject({ status, code })
    gateway.nothingStored()
  })

  it('of 64 KiB is taken', async () => {
    const gateway = await openDoors()
    const content = large(limits.store_notification_bytes_max)
    expect(Buffer.byteLength(content)).toBe(64 * 1024)
    expect((await gateway.send(content, { path, headers: headers() })).status).toBe(200)
  })

  it.each([`app_live_${'f'.repeat(32)}`, 'none', '%00'])('for the unknown app key %s is not found', async (key) => {
    const gateway = await openDoors()
    const unknown = path.replace(/[^/]+$/, key)
    expect(await gateway.send(body(), { path: unknown, headers: headers() })).toMatchObject({
      status: 404,
      code: 'not_found',
    })
    expect((await gateway.send('x', { path: unknown })).code).toBe('bad_json') // before the app is looked up
    gateway.nothingStored()
  })

  it.each(['audit', 'log'] as const)('is not acknowledged while the %s is away', async (what) => {
    const gateway = await openDoors()
    gateway[what].fault = new Error('away')
    const code = what === 'audit' ? 'audit_write_failed' : 'unavailable'
    expect(await gateway.send(body(), { path, headers: headers() })).toMatchObject({ status: 503, code })
    expect(gateway.notified()).toEqual([])
    gateway[what].fault = null
    expect((await gateway.send(body(), { path, headers: headers() })).status).toBe(200)
    expect(gateway.notified()).toHaveLength(1)
  })

  it('is not acknowledged while nobody can look its app up', async () => {
    const gateway = await openDoors()
    gateway.database.fault = new CodedError('unavailable', { headers: retrySoon })
    const refused = await gateway.send(body(), { path, headers: headers() })
    expect(refused).toMatchObject({ status: 503, code: 'unavailable', headers: { 'retry-after': '1' } })
    gateway.nothingStored()
  })

  it('is on the log before it is acknowledged', async () => {
    const gateway = await openDoors()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    gateway.log.until = promise
    let answered = false
    const sent = gateway.send(body(), { path, headers: headers() }).finally(() => {
      answered = true
    })
    await expect.poll(() => gateway.audited().length).toBe(1)
    expect(answered).toBe(false)
    release()
    expect((await sent).status).toBe(200)
  })

  it('counts for the rate of its address, before its body is read', async () => {
    const gateway = await openDoors()
    for (let n = 0; n < limits.postbacks_max; n += 1) await gateway.send('junk', { path })
    const refused = await gateway.send(body(), { path, headers: headers() })
    expect(refused).toMatchObject({ status: 429, code: 'rate_limited', headers: { 'retry-after': '60' } })
    gateway.nothingStored()
    expect((await gateway.send(body(), { path, headers: headers(), ip: '192.0.2.2' })).status).toBe(200)
  })
})
