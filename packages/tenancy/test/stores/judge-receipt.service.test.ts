import { limits } from '@tributary/contracts/limits'
import type { ReceiptBinding } from '@tributary/domain/receipt/judgement'
import { readAppReceipt } from '@tributary/stores/app-receipt'
import { openAppStore } from '@tributary/stores/app-store'
import { openAsk } from '@tributary/stores/ask'
import { openGooglePlay } from '@tributary/stores/google-play'
import { verifyJws } from '@tributary/stores/verify-jws'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { type Behaviour, openFakeStores } from '@tributary/testing/stores/fake-stores'
import { expect, onTestFinished, test } from 'vitest'
import { judgeReceipt } from '../../src/stores/judge-receipt.ts'

const apple = createAppleAuthority()
const roots = [apple.root.certificate]
const proofs = { verify: verifyJws(roots), readAppReceipt: readAppReceipt(roots) }
const bundle_id = 'com.example.run'

async function world() {
  const fake = await openFakeStores()
  const { ask, close } = openAsk(300)
  onTestFinished(async () => {
    await close()
    await fake.close()
  })
  const appStore = openAppStore(fake.apple, bundle_id, { ask, urls: [fake.url] })
  const google = { ask, url: fake.url, token_url: `${fake.url}/token` }
  const googlePlay = openGooglePlay(fake.google, bundle_id, google)
  const stores = { ...proofs, appStore, googlePlay }
  const judge = (receipt: unknown, binding: ReceiptBinding = {}) =>
    judgeReceipt(receipt, { bundle_id, ...binding }, stores)
  return { fake, ask, google, stores, judge }
}

const signed = (more: object = {}): Behaviour => ({
  status: 200,
  body: { signedTransactionInfo: apple.sign(appleTransaction({ transactionId: '70', ...more })) },
})
const legacy = { store: 'apple', app_receipt: apple.appReceipt(['70', '71']) }
const product = { store: 'google', purchase_token: 'abc.AO-J1', product_id: 'coins_100' }
const subscription = { ...product, subscription: true }
const paid = { status: 200, body: { kind: 'androidpublisher#productPurchase', purchaseState: 0, orderId: 'GPA.1' } }

test('a signed transaction is judged without a store', async () => {
  const { judge, fake } = await world()
  const receipt = { store: 'apple', jws: apple.sign(appleTransaction()) }
  expect(await judge(receipt)).toMatchObject({ verdict: 'valid', environment: 'Production' })
  expect(await judge(receipt, { bundle_id: 'com.other' })).toMatchObject({ verdict: 'invalid', reason: 'wrong_bundle' })
  expect(await judge({ ...receipt, jws: 'x.y.z' })).toMatchObject({ verdict: 'invalid', reason: 'malformed' })
  expect(await judge({ store: 'steam' })).toMatchObject({ store: null, verdict: 'invalid', reason: 'malformed' })
  expect(await judge('x'.repeat(limits.receipt_bytes_max))).toMatchObject({ reason: 'receipt_too_large' })
  expect(fake.asked).toEqual([])
})

const unknown_id: Behaviour = { status: 404, body: { errorCode: 4040010 } }
const unknown_app: Behaviour = { status: 404, body: { errorCode: 4040003 } }
const refused: Behaviour = { status: 401 }
const away: Behaviour = { status: 500 }
test.each<[string, Behaviour | null, Behaviour | null, object, string]>([
  ['production knows it', signed(), away, { verdict: 'valid' }, 'ok'],
  ['the sandbox alone knows it', null, signed({ environment: 'Sandbox' }), { verdict: 'sandbox' }, 'ok'],
  ['nobody knows it', null, null, { reason: 'not_found' }, 'ok'],
  ['the sandbox is away', null, away, { reason: 'store_away' }, 'ok'],
  ['production is away', away, null, { reason: 'store_away' }, 'store_away'],
  ['the app was never released', unknown_app, null, { reason: 'not_found' }, 'ok'],
  ['production refuses the key', refused, signed({ environment: 'Sandbox' }), { verdict: 'sandbox' }, 'ok'],
  ['both refuse the key', refused, refused, { reason: 'no_credentials' }, 'refused'],
])('Apple has two environments: %s', async (_what, production, sandbox, judged, checked) => {
  const { fake, ask } = await world()
  const tests = await openFakeStores(fake)
  onTestFinished(() => tests.close())
  // A fault meets each request; what is known, and what is not, the id alone. No transaction has the id of a check.
  for (const [at, one] of [
    [fake, production],
    [tests, sandbox],
  ] as const)
    for (const id of ['70', '0'])
      at.purchases.set(
        id,
        one === null || (id === '0' && typeof one === 'object' && one.status === 200) ? unknown_id : one,
      )
  const appStore = openAppStore(fake.apple, bundle_id, { ask, urls: [fake.url, tests.url] })
  expect(await judgeReceipt(legacy, { bundle_id }, { ...proofs, appStore, googlePlay: null })).toMatchObject(judged)
  expect(await appStore.check()).toBe(checked)
})

test('Apple is asked for the transaction of a legacy receipt that the event names', async () => {
  const { judge, fake } = await world()
  fake.purchases.set('70', signed()).set('71', signed({ transactionId: '71', environment: 'Sandbox' }))
  expect(await judge(legacy)).toMatchObject({ verdict: 'valid', transaction_id: '70' })
  expect(await judge(legacy, { transaction_id: '71' })).toMatchObject({ verdict: 'sandbox', transaction_id: '71' })
  expect(await judge(legacy, { transaction_id: '72' })).toMatchObject({ reason: 'wrong_transaction' })
  expect(await judge({ ...legacy, app_receipt: 'MII=' })).toMatchObject({ reason: 'malformed' })
  expect(fake.asked).toEqual(['/inApps/v1/transactions/70', '/inApps/v1/transactions/71'])
})

test('an app receipt that Apple did not sign, or of another app, is invalid, and Apple is not asked for what is in it', async () => {
  const { judge, fake } = await world()
  fake.purchases.set('70', signed())
  const stranger = createAppleAuthority()
  const judged = async (app_receipt: string) => (await judge({ store: 'apple', app_receipt })).reason
  expect(await judged(stranger.appReceipt(['70']))).toBe('untrusted_chain')
  expect(await judged(apple.appReceipt(['70'], { key: stranger.leaf.key }))).toBe('bad_signature')
  expect(await judged(apple.appReceipt(['70'], { bundle_id: 'com.other' }))).toBe('wrong_bundle')
  expect(fake.asked).toEqual([])
  expect(await judged(apple.appReceipt(['70']))).toBeNull()
})

test.each<[string, Behaviour | null, string, string]>([
  ['does not know it', null, 'invalid', 'not_found'],
  ['names another bundle', signed({ bundleId: 'com.other' }), 'invalid', 'wrong_bundle'],
  ['names another product', signed({ productId: 'gold' }), 'invalid', 'wrong_product'],
  ['names Xcode', signed({ environment: 'Xcode' }), 'unverified', 'store_away'],
  ['names another transaction', signed({ transactionId: '99' }), 'unverified', 'store_away'],
  [
    'answers what a stranger signed',
    { status: 200, body: { signedTransactionInfo: createAppleAuthority().sign(appleTransaction()) } },
    'unverified',
    'store_away',
  ],
  ['answers no transaction', { status: 200, body: {} }, 'unverified', 'store_away'],
  ['answers no JSON', { status: 200, body: '<html>' }, 'unverified', 'store_away'],
  ['is throttled', { status: 429, body: { errorCode: 4290000 } }, 'unverified', 'store_away'],
  ['has a fault', { status: 500 }, 'unverified', 'store_away'],
  ['wants a retry', { status: 404, body: { errorCode: 4040002 } }, 'unverified', 'store_away'],
  ['is behind a proxy with a 404 of its own', { status: 404, body: 'not here' }, 'unverified', 'store_away'],
  ['leads elsewhere', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'unverified', 'store_away'],
  ['refuses the key', { status: 401 }, 'unverified', 'no_credentials'],
  ['knows no such app', { status: 404, body: { errorCode: 4040003 } }, 'unverified', 'no_credentials'],
  ['hangs', 'hang', 'unverified', 'store_away'],
  ['hangs up', 'cut', 'unverified', 'store_away'],
  ['floods', 'flood', 'unverified', 'store_away'],
])('a legacy receipt when Apple %s', async (_what, behaviour, verdict, reason) => {
  const { judge, fake } = await world()
  if (behaviour !== null) fake.purchases.set('70', behaviour)
  expect(await judge(legacy, { product_id: 'coins_100' })).toMatchObject({ store: 'apple', verdict, reason })
})

test('Google is asked for products and subscriptions, with one token', async () => {
  const { judge, fake } = await world()
  fake.purchases.set('abc.AO-J1', paid)
  expect(await judge(product)).toMatchObject({ verdict: 'valid', transaction_id: 'GPA.1', environment: 'Production' })
  const items = { lineItems: [{ productId: 'coins_100', latestSuccessfulOrderId: 'GPA.2..0' }] }
  fake.purchases.set('abc.AO-J1', { status: 200, body: { subscriptionState: 'SUBSCRIPTION_STATE_ACTIVE', ...items } })
  expect(await judge(subscription)).toMatchObject({ verdict: 'valid', transaction_id: 'GPA.2..0' })
  const purchases = '/androidpublisher/v3/applications/com.example.run/purchases'
  expect(fake.asked).toEqual([
    '/token',
    `${purchases}/products/coins_100/tokens/abc.AO-J1`,
    `${purchases}/subscriptionsv2/tokens/abc.AO-J1`,
  ])
})

const googleError = (status: number, reason: string): Behaviour => ({
  status,
  body: { error: { errors: [{ reason }] } },
})

test.each<[string, Behaviour | null, string, string | null]>([
  ['does not know it', null, 'invalid', 'not_found'],
  ['never made it', googleError(400, 'invalid'), 'invalid', 'not_found'],
  ['forgot it', { status: 410 }, 'invalid', 'not_found'],
  ['names another product', { status: 200, body: { ...paid.body, productId: 'gold' } }, 'invalid', 'wrong_product'],
  ['says it is of another product', googleError(400, 'purchaseTokenDoesNotMatchProductId'), 'invalid', 'wrong_product'],
  ['says it is of another app', googleError(400, 'purchaseTokenDoesNotMatchPackageName'), 'invalid', 'wrong_bundle'],
  ['says it is a test', { status: 200, body: { ...paid.body, purchaseType: 0 } }, 'sandbox', null],
  ['waits for the payment', { status: 200, body: { purchaseState: 2 } }, 'unverified', 'pending_purchase'],
  ['took it back', { status: 200, body: { ...paid.body, purchaseState: 1 } }, 'valid', 'refunded'],
  ['has a state that nobody knows', { status: 200, body: { purchaseState: 7 } }, 'unverified', 'store_away'],
  ['answers no JSON', { status: 200, body: 'ok' }, 'unverified', 'store_away'],
  ['answers a list', { status: 200, body: [] }, 'unverified', 'store_away'],
  ['is throttled', googleError(429, 'rateLimitExceeded'), 'unverified', 'store_away'],
  ['has no quota left', googleError(403, 'quotaExceeded'), 'unverified', 'store_away'],
  ['has a fault', { status: 503 }, 'unverified', 'store_away'],
  ['refuses the account', googleError(403, 'permissionDenied'), 'unverified', 'no_credentials'],
  ['knows no such app', googleError(404, 'applicationNotFound'), 'unverified', 'no_credentials'],
  ['is behind a proxy with a 404 of its own', { status: 404, body: 'not here' }, 'unverified', 'store_away'],
  ['hangs', 'hang', 'unverified', 'store_away'],
  ['hangs up', 'cut', 'unverified', 'store_away'],
  ['floods', 'flood', 'unverified', 'store_away'],
])('a purchase when Google %s', async (_what, behaviour, verdict, reason) => {
  const { judge, fake } = await world()
  if (behaviour !== null) fake.purchases.set('abc.AO-J1', behaviour)
  expect(await judge(product)).toMatchObject({ store: 'google', verdict, reason })
})

test.each<[string, Behaviour, string]>([
  ['refuses the account', { status: 400, body: { error: 'invalid_grant' } }, 'no_credentials'],
  ['is throttled', { status: 429 }, 'store_away'],
  ['has a fault', { status: 500 }, 'store_away'],
  ['hangs', 'hang', 'store_away'],
  ['floods', 'flood', 'store_away'],
  ['answers no token', { status: 200, body: {} }, 'store_away'],
  [
    'answers a token that is no header',
    { status: 200, body: { access_token: 'a\r\nb', expires_in: 60 } },
    'store_away',
  ],
])('a purchase when the token address of Google %s, and later answers', async (_what, behaviour, reason) => {
  const { judge, fake } = await world()
  fake.purchases.set('abc.AO-J1', paid)
  fake.instead.push(behaviour)
  expect(await judge(product)).toMatchObject({ verdict: 'unverified', reason })
  expect(fake.asked).toEqual(['/token'])
  expect(await judge(product)).toMatchObject({ verdict: 'valid' })
})

test('a token that Google no longer takes is asked for anew', async () => {
  const { judge, fake } = await world()
  fake.purchases.set('abc.AO-J1', paid)
  expect(await judge(product)).toMatchObject({ verdict: 'valid' })
  fake.instead.push(googleError(401, 'authError'))
  expect(await judge(product)).toMatchObject({ reason: 'no_credentials' })
  expect(await judge(product)).toMatchObject({ verdict: 'valid' })
})

test('a token serves many requests at once, and is asked for anew before it ends', async () => {
  const { fake, google } = await world()
  fake.purchases.set('abc.AO-J1', paid)
  let now_ms = Date.UTC(2026, 5, 1)
  const play = openGooglePlay(fake.google, bundle_id, { ...google, now: () => now_ms })
  const ask = () => play.ask({ store: 'google', purchase_token: 'abc.AO-J1', product_id: 'coins_100' })
  const tokens = () => fake.asked.filter((path) => path === '/token').length
  const answers = await Promise.all(Array.from({ length: 20 }, ask))
  expect(answers.every((one) => typeof one === 'object')).toBe(true)
  expect(tokens()).toBe(1)
  now_ms += 58 * 60_000
  await ask()
  expect(tokens()).toBe(1)
  now_ms += 2 * 60_000
  expect(await Promise.all([ask(), ask()])).toEqual([answers[0], answers[0]])
  expect(tokens()).toBe(2)
})

test('an app without credentials leaves its receipts unverified, and asks nobody', async () => {
  const none = { ...proofs, appStore: null, googlePlay: null }
  for (const receipt of [legacy, product, subscription])
    expect(await judgeReceipt(receipt, { bundle_id }, none)).toMatchObject({
      ...{ verdict: 'unverified', reason: 'no_credentials' },
    })
})

test('credentials are checked by asking for what no store has', async () => {
  const { fake, ask, google, stores } = await world()
  expect(await stores.appStore.check()).toBe('ok')
  expect(await stores.googlePlay.check()).toBe('ok')
  const other = await openFakeStores()
  onTestFinished(other.close)
  const apart = openAppStore(other.apple, bundle_id, { ask, urls: [fake.url] })
  expect(await apart.check()).toBe('refused')
  expect(await openGooglePlay(other.google, bundle_id, google).check()).toBe('refused')
  fake.instead.push({ status: 404, body: { errorCode: 4040003 } }, googleError(404, 'applicationNotFound'))
  expect(await stores.appStore.check()).toBe('unknown_app')
  expect(await stores.googlePlay.check()).toBe('unknown_app')
  fake.instead.push('hang', { status: 500 })
  expect(await stores.appStore.check()).toBe('store_away')
  expect(await stores.googlePlay.check()).toBe('store_away')
})
