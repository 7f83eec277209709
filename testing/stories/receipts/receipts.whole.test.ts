import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { openFakeStores } from '@tributary/testing/stores/fake-stores'
import { expect, onTestFinished, test, vi } from 'vitest'

const patient = { timeout: 60_000, interval: 100 }
const bundle_id = 'com.example.run'
const now_ms = Date.now()
const day_ms = 86_400_000

test('a game that sells on both stores: only what a store confirms is money, once, whoever claims it, and refunds of the stores come in', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-receipts-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const [apple, stranger, fake] = [createAppleAuthority(), createAppleAuthority(), await openFakeStores()]
  onTestFinished(() => fake.close())
  const roots = join(data_dir, 'roots.pem')
  writeFileSync(roots, apple.root.certificate.toString())
  const running = await startStandaloneProcess({
    data_dir,
    env: {
      ...{ TRIBUTARY_APPLE_ROOTS_FILE: roots, TRIBUTARY_APPLE_API_URL: fake.url },
      ...{ TRIBUTARY_GOOGLE_API_URL: fake.url, TRIBUTARY_GOOGLE_TOKEN_URL: `${fake.url}/token` },
    },
  })
  onTestFinished(() => void running.stop('SIGKILL'))
  const { url } = running
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const call = async (method: string, path: string, bearer: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, never> & { rows: object[] } }
  }
  const admin = (method: string, path: string, body?: unknown) => call(method, `/admin/api/v1${path}`, token, body)
  const { company_id } = (await admin('POST', '/companies', { name: 'Acme', plan: 'free' })).body
  const makeApp = async (platform: 'ios' | 'android') => {
    const { app_id, app_key } = (await admin('POST', '/apps', { company_id, name: platform, platform, bundle_id })).body
    const { key } = (
      await admin('POST', '/keys', { app_id, label: 'k', scopes: ['events:write', 'reports:read', 'raw:read'] })
    ).body
    return { app_id: String(app_id), app_key: String(app_key), key: String(key) }
  }
  const [ios, android] = [await makeApp('ios'), await makeApp('android')]

  const send = async (
    key: string,
    install_uuid: string,
    transaction_id: string | null,
    receipt: object | null,
    more = {},
  ) => {
    const event = {
      ...{ event_id: randomUUID(), event_name: 'purchase', install_uuid, event_ts_ms: now_ms, transaction_id },
      ...{ revenue: 2, currency: 'USD', ...(receipt && { props: { receipt } }), ...more },
    }
    expect((await call('POST', '/s2s/event', key, event)).status).toBe(200)
  }
  const report = async (key: string, name: string) => {
    const window = `since_ms=${now_ms - 3 * day_ms}&until_ms=${now_ms + 3 * day_ms}`
    return (await call('GET', `/api/v1/reports/${name}?${window}`, key)).body.rows
  }
  const rawVerdicts = async (key: string) => {
    const window = `since_ms=${now_ms - day_ms}&until_ms=${now_ms + day_ms}`
    const answer = await fetch(`${url}/api/v1/raw/receipts?${window}`, { headers: { authorization: `Bearer ${key}` } })
    const lines = (await answer.text()).split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line) as Record<'event_id' | 'transaction_id' | 'verdict' | 'reason', string>)
  }
  const jws = (transactionId: string, more: object = {}, by = apple) => ({
    store: 'apple',
    jws: by.sign(
      appleTransaction({
        ...{ transactionId, originalTransactionId: transactionId, signedDate: now_ms, purchaseDate: now_ms },
        ...{ price: 4990, currency: 'USD', ...more },
      }),
    ),
  })
  // The store confirms one purchase that five installs claim, and that a backend claims besides.
  for (const n of [1, 2, 3, 4, 5]) await send(ios.key, `i-${n}`, '101', jws('101'))
  await send(ios.key, 'i-9', '101', null, { event_name: 'subscribe' })
  await send(ios.key, 'i-1', '102', jws('102', {}, stranger))
  await send(ios.key, 'i-1', '103', jws('103', { bundleId: 'com.example.other' }))
  await send(ios.key, 'i-1', '104', jws('104', { environment: 'Sandbox' }))
  await send(ios.key, 'i-1', null, { store: 'apple', jws: 'x'.repeat(40_000) })
  await send(ios.key, 'i-2', '105', jws('105', { revocationDate: now_ms - day_ms }))
  await send(ios.key, 'i-3', null, null)
  // Google is asked once the app has an account: until then what the event says counts.
  const google = { store: 'google', purchase_token: 'token-1', product_id: 'coins_100' }
  fake.purchases.set('token-1', { status: 200, body: { purchaseState: 0, orderId: 'GPA.1', productId: 'coins_100' } })
  await send(android.key, 'a-1', null, google)
  await send(android.key, 'a-1', null, { ...google, purchase_token: 'made-up' }, { revenue: 100 })
  await waitUntilWritten(url, data_dir)

  const rows = async (key: string) =>
    (await report(key, 'receipts'))
      .map((row) =>
        Object.values(row as object)
          .slice(1)
          .join(' '),
      )
      .toSorted()
  await vi.waitFor(async () => {
    expect(await rows(ios.key)).toEqual(
      [
        ...['apple invalid untrusted_chain 1 2 0', 'apple invalid wrong_bundle 1 2 0', 'apple sandbox  1 2 0'],
        ...['apple valid  1 2 4.99', 'apple valid  1 -4.99 -4.99', 'apple valid refunded 1 2 4.99'],
        ...['apple valid reused 4 8 0', ' invalid receipt_too_large 1 2 0'],
      ].toSorted(),
    )
  }, patient)
  const money = async (key: string) =>
    (await report(key, 'revenue')).reduce((sum: number, row) => sum + (row as { revenue_usd: number }).revenue_usd, 0)
  expect(await money(ios.key)).toBeCloseTo(4.99 + 4.99 - 4.99 + 2, 4)
  expect(await rows(android.key)).toEqual(['google unverified no_credentials 2 102 102'])
  await admin('PATCH', `/apps/${android.app_id}`, { valid_receipts_only: true })
  await vi.waitFor(async () => expect(await money(android.key)).toBe(0), patient)
  await admin('PATCH', `/apps/${android.app_id}`, { valid_receipts_only: false })
  const set = await admin('PUT', `/apps/${android.app_id}/store-credentials`, { google: fake.google })
  expect(set.status).toBe(200)
  await vi.waitFor(async () => {
    expect(await rows(android.key)).toEqual(['google invalid not_found 1 100 0', 'google valid  1 2 2'])
  }, patient)

  const found = (await admin('GET', `/apps/${ios.app_id}/find?q=101`)).body as unknown as {
    found: { install_uuid: string; money: { counts: boolean; amount: number; currency: string } }[]
  }
  const counted = found.found.filter(({ money: { counts } }) => counts)
  expect(found.found).toHaveLength(6)
  expect(counted).toMatchObject([{ install_uuid: 'i-1', money: { amount: 4.99, currency: 'USD' } }])

  const raw = await rawVerdicts(ios.key)
  expect(
    raw.map(({ transaction_id, verdict, reason }) => `${transaction_id} ${verdict} ${reason}`.trim()).toSorted(),
  ).toEqual([
    ...Array.from({ length: 5 }, () => '101 valid'),
    ...['103 invalid wrong_bundle', '104 sandbox', '105 valid', '105 valid refunded'],
    ...['invalid receipt_too_large', 'invalid untrusted_chain'],
  ])

  // A notification of Apple becomes an event of the install that bought; a forged one is refused.
  const notification = (signer: typeof apple) => ({
    signedPayload: signer.sign({
      ...{ notificationType: 'REFUND', notificationUUID: randomUUID(), version: '2.0', signedDate: now_ms },
      data: {
        ...{ bundleId: bundle_id, environment: 'Production' },
        signedTransactionInfo: jws('101', { revocationDate: now_ms }, signer).jws,
      },
    }),
  })
  expect((await call('POST', `/store/apple/${ios.app_key}`, '', notification(stranger))).status).toBe(401)
  expect(await call('POST', `/store/apple/${ios.app_key}`, '', notification(apple))).toMatchObject({
    status: 200,
    body: { ok: true },
  })
  await vi.waitFor(async () => expect(await money(ios.key)).toBeCloseTo(2, 4), patient)
  const { body } = await call('GET', '/api/v1/installs/i-1', ios.key)
  const { receipts } = body as unknown as { receipts: object[] }
  const purchase = { store: 'apple', transaction_id: '101', verdict: 'valid', reason: null, price_source: 'store' }
  expect(receipts).toContainEqual(expect.objectContaining(purchase))
  for (const secret of [fake.google.private_key.slice(40, 80), 'made-up'])
    expect(running.output()).not.toContain(secret)
}, 300_000)
