import { appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { expect, it } from 'vitest'
import { sent, service } from '../commands/fake-admin-api.ts'
import { fileWith, tributary } from '../run-tributary.ts'

const apple = createAppleAuthority()
const jws = apple.sign(appleTransaction())
const none = { product_id: null, transaction_id: null, environment: null }
const known = { product_id: 'coins_100', transaction_id: '2000000123456789', environment: 'Production' }

async function verify(content: string | Buffer, more: string[] = [], given: Record<string, string> = {}) {
  const TRIBUTARY_APPLE_ROOTS_FILE = await fileWith('roots.pem', apple.root.certificate.toString())
  return tributary(['store', 'verify', await fileWith('receipt', content), ...more], {
    TRIBUTARY_APPLE_ROOTS_FILE,
    ...given,
  })
}
const verdictOf = async (content: string | Buffer, more: string[] = [], env: Record<string, string> = {}) => {
  const { code, stdout, stderr } = await verify(content, [...more, '--json'], env)
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

it('says offline what a signed transaction is, as JSON or bare', async () => {
  const valid = { store: 'apple', verdict: 'valid', reason: null, ...known }
  expect(await verdictOf(`${jws}\n`)).toEqual(valid)
  expect(await verdictOf(JSON.stringify({ store: 'apple', jws }))).toEqual(valid)
  const test = apple.sign(appleTransaction({ environment: 'Sandbox' }))
  expect(await verdictOf(test)).toEqual({ ...valid, verdict: 'sandbox', environment: 'Sandbox' })
  const stranger = createAppleAuthority().sign(appleTransaction())
  expect(await verdictOf(stranger)).toEqual({ store: 'apple', verdict: 'invalid', reason: 'untrusted_chain', ...none })
})

it('says that only the store can tell of others', async () => {
  const unverified = { verdict: 'unverified', reason: 'no_credentials', ...none }
  const receipt = apple.appReceipt(['1'])
  expect(await verdictOf(receipt)).toEqual({ store: 'apple', ...unverified })
  expect(await verdictOf(Buffer.from(receipt, 'base64'))).toEqual({ store: 'apple', ...unverified })
  const forged = createAppleAuthority().appReceipt(['1'])
  expect(await verdictOf(forged)).toEqual({ store: 'apple', verdict: 'invalid', reason: 'untrusted_chain', ...none })
  const token = { store: 'google', purchase_token: 'abc', product_id: 'coins_100' }
  expect(await verdictOf(JSON.stringify(token))).toEqual({ store: 'google', ...unverified })
  expect(await verdictOf('hello')).toEqual({ store: 'apple', verdict: 'invalid', reason: 'malformed', ...none })
  expect(await verdictOf('a'.repeat(33 * 1024))).toMatchObject({ store: null, reason: 'receipt_too_large' })
})

it('compares it with an app, and tells a person in a sentence', async () => {
  const app = {
    ...{ app_id: 'app_1', company_id: 'co_1', app_key: 'app_live_1', name: 'A', platform: 'ios', store_id: null },
    ...{ bundle_id: 'com.other', provider_token: null, owns_store_id: true, development_keys: false, created_at_ms: 5 },
    ...{
      has_apple_key: false,
      has_google_account: false,
      valid_receipts_only: false,
      google_push_audience: null,
      google_push_email: null,
      old_secrets_end_ms: [],
      click_window_hours: 1,
    },
    ...{ probabilistic: false, probabilistic_window_hours: 2, reinstall_days: 3 },
  }
  const env = await service({
    'GET /admin/api/v1/apps/app_1': () => ({ status: 200, body: app }),
    'GET /admin/api/v1/apps/app_2': () => ({ status: 200, body: { ...app, bundle_id: null } }),
  })
  expect(await verdictOf(jws, ['--app', 'app_1'], env)).toMatchObject({ verdict: 'invalid', reason: 'wrong_bundle' })
  expect((await verify(jws, ['--app', 'app_1'], env)).stdout).toContain('It is of another app.')
  expect((await verify(jws)).stdout).toMatch(/It is genuine.*\nIt was not compared with an app.*\nThe roots of /)
  const without = await verify(jws, ['--app', 'app_2', '--json'], env)
  expect([without.code, JSON.parse(without.stderr).error]).toEqual([1, 'no_bundle_id'])
})

it('says that a file of roots holds none', async () => {
  const env = { TRIBUTARY_APPLE_ROOTS_FILE: await fileWith('empty.pem', 'nothing') }
  const { code, stderr } = await verify(jws, ['--json'], env)
  expect([code, JSON.parse(stderr).error]).toEqual([1, 'unreadable_file'])
})

it('sends the credentials of an app from files, beside its settings', async () => {
  const requested: unknown[] = []
  const take = (request: Parameters<typeof sent>[0]) => {
    requested.push([request.method, sent(request)])
    return { status: 400, body: { error: 'invalid_field', field: 'apple.key', message: 'No.' } }
  }
  const env = await service({ 'PUT /admin/api/v1/apps/app_1/store-credentials': take })
  const key = await fileWith('key.p8', 'a key\n')
  const account = await fileWith('account.json', '{"type":"service_account"}')
  const set = (...more: string[]) => tributary(['app', 'set', 'app_1', ...more, '--json'], env)
  const ids = ['--apple-issuer-id', 'i', '--apple-key-id', 'k']
  const refused = await set(...ids, '--apple-key-file', key, '--google-service-account-file', account)
  expect([refused.code, JSON.parse(refused.stderr)]).toEqual([
    1,
    { error: 'invalid_field', message: 'No. (apple.key)' },
  ])
  await set('--apple-key-file', '', '--google-service-account-file', '')
  expect(requested).toEqual([
    ['PUT', { apple: { issuer_id: 'i', key_id: 'k', key: 'a key' }, google: { type: 'service_account' } }],
    ['PUT', { apple: null, google: null }],
  ])
  expect((await set(...ids)).code).toBe(2)
  expect((await set('--apple-key-file', key)).code).toBe(2)
  expect(JSON.parse((await set('--google-service-account-file', key)).stderr).error).toBe('bad_json')
  expect(requested).toHaveLength(2)
})

it('tells what the stores say of the credentials', async () => {
  const checked = { apple: 'ok', google: 'refused' }
  const env = await service({ 'POST /admin/api/v1/apps/app_1/check-store': () => ({ status: 200, body: checked }) })
  expect(JSON.parse((await tributary(['app', 'check-store', 'app_1', '--json'], env)).stdout)).toEqual(checked)
  expect((await tributary(['app', 'check-store', 'app_1'], env)).stdout).toContain('does not take these credentials')
})
