import { randomBytes } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { readStoreCredentials } from '@tributary/tenancy/companies/store-credentials'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'
import { rotateMasterKey } from '@tributary/tenancy/secrets/rotate-master-key'
import { issue } from '@tributary/testing/stores/apple-authority'
import { openFakeStores } from '@tributary/testing/stores/fake-stores'
import { afterAll, describe, expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'
import { masterKeys } from '../admin-app.ts'

const fake = await openFakeStores()
afterAll(fake.close)
const { apple, google, url } = fake
const { ask, pool, query, newApp, auditOf } = adminApiUnderTest({
  store_urls: { apple: url, google: url, google_token: `${url}/token` },
})
const bundle_id = 'com.example.run'

async function appWith(credentials: object, settings: object = { bundle_id }) {
  const { app_id } = await newApp()
  await ask('PATCH', `/apps/${app_id}`, settings)
  expect((await set(app_id, credentials)).status).toBe(200)
  return app_id
}
const set = (app_id: string, body: unknown) => ask('PUT', `/apps/${app_id}/store-credentials`, body)
const check = async (app_id: string) => (await ask('POST', `/apps/${app_id}/check-store`)).body

describe('credentials', () => {
  test('are kept encrypted, shown by no answer and no entry of the audit log, and taken away by null', async () => {
    const { app_id } = await newApp()
    const of = async (body: object) => (await set(app_id, body)).body
    const answers = [
      await of({}),
      await of({ apple }),
      await of({ google: { ...google, token_uri: 'http://10.0.0.1/' } }),
    ]
    expect(answers).toMatchObject([
      { has_apple_key: false, has_google_account: false },
      { has_apple_key: true, has_google_account: false },
      { app_id, has_apple_key: true, has_google_account: true },
    ])
    answers.push((await ask('GET', `/apps/${app_id}`)).body)
    expect(answers.at(-1)).toEqual(answers.at(-2))
    const stored = await readStoreCredentials({ pool: pool(), masterKeys }, app_id)
    expect(stored).toMatchObject({ bundle_id: null, apple, google }) // what else the file of Google holds is not kept
    const rows = await query(
      'SELECT to_jsonb(k) AS k, to_jsonb(g) AS g FROM apple_keys k JOIN google_accounts g USING (app_id)',
    )
    expect(rows).toHaveLength(1)
    const logged = await auditOf(app_id)
    const set_of = logged.filter(({ action }) => action === 'app.set_store_credentials').map(({ detail }) => detail)
    expect(set_of).toEqual([{ apple: 'new' }, { google: 'new' }])
    for (const secret of [apple.key, google.private_key, apple.key_id, google.client_email])
      expect(JSON.stringify([answers, rows, logged])).not.toContain(secret.slice(0, 60).trim())
    expect(await of({ apple: null })).toMatchObject({ has_apple_key: false, has_google_account: true })
    expect((await auditOf(app_id)).at(-1).detail).toEqual({ apple: 'removed' })
  })

  test('of one app cannot be read as those of another, nor after the loss of their master key', async () => {
    const [one, other] = [await appWith({ apple }), await appWith({ apple: { ...apple, key_id: 'AAAAAAAAAA' } })]
    await query(
      'UPDATE apple_keys SET (iv, ciphertext, tag) = (SELECT iv, ciphertext, tag FROM apple_keys WHERE app_id = $1) WHERE app_id = $2',
      [one, other],
    )
    const deps = { pool: pool(), masterKeys }
    expect((await readStoreCredentials(deps, one)).apple).toEqual(apple)
    expect((await readStoreCredentials(deps, other)).apple).toBeNull()
    const lost = openMasterKeys([readMasterKey(randomBytes(32).toString('base64'))])
    expect((await readStoreCredentials({ ...deps, masterKeys: lost }, one)).apple).toBeNull()
  })

  test('are encrypted again by a rotation of the master key', async () => {
    const app_id = await appWith({ apple, google })
    const next = readMasterKey(randomBytes(32).toString('base64'))
    const both = openMasterKeys([next, { id: 'test', key: Buffer.alloc(32, 1) }])
    await rotateMasterKey(pool(), both, { actor: 'test', request_id: 'r', now_ms: Date.now() })
    const read = (keys: typeof both) => readStoreCredentials({ pool: pool(), masterKeys: keys }, app_id)
    expect(await read(openMasterKeys([next]))).toMatchObject({ bundle_id, apple, google })
    // The other tests have the key of before.
    const back = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }, next])
    await rotateMasterKey(pool(), back, { actor: 'test', request_id: 'r', now_ms: Date.now() })
  })

  const rsa = google.private_key
  test.each([
    ['apple.key', { apple: { ...apple, key: 'no key' } }],
    ['apple.key', { apple: { ...apple, key: rsa } }],
    ['apple.key', { apple: { ...apple, key: issue({ name: 'x' }).certificate.toString() } }],
    ['apple.key', { apple: { ...apple, key: '' } }],
    ['apple.key', { apple: { ...apple, key: 'x'.repeat(limits.store_key_chars_max + 1) } }],
    ['apple.key', { apple: { issuer_id: apple.issuer_id, key_id: apple.key_id } }],
    ['apple.key_id', { apple: { ...apple, key_id: 'x' } }],
    ['apple.issuer_id', { apple: { ...apple, issuer_id: 'me' } }],
    ['google.private_key', { google: { ...google, private_key: apple.key } }],
    ['google.private_key', { google: { ...google, private_key: 'no key' } }],
    ['google.type', { google: { ...google, type: 'authorized_user' } }],
    ['google.client_email', { google: { ...google, client_email: 'a\nb' } }],
    ['google', { google: [] }],
    ['more', { more: 1 }],
  ])('with a bad %s are refused by its name, and nothing is set', async (field, body) => {
    const { app_id } = await newApp()
    const answer = await set(app_id, { google, apple, ...body })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
    expect(JSON.stringify(answer.body)).not.toContain('PRIVATE')
    expect((await ask('GET', `/apps/${app_id}`)).body).toMatchObject({
      has_apple_key: false,
      has_google_account: false,
    })
  })

  test('of an app that is not there are refused', async () => {
    expect(await set('app_none', { apple })).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
    expect(await ask('GET', '/apps/app_none')).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
    expect(await ask('GET', '/apps/a%00b')).toMatchObject({ status: 404, body: { error: 'unknown_app' } })
  })
})

describe('the check', () => {
  test('asks each store for which there are credentials, with those of the app', async () => {
    const other = await openFakeStores()
    await other.close()
    expect(await check(await appWith({ apple, google }))).toEqual({ apple: 'ok', google: 'ok' })
    expect(await check(await appWith({ apple }))).toEqual({ apple: 'ok', google: 'no_credentials' })
    expect(await check(await appWith({}))).toEqual({ apple: 'no_credentials', google: 'no_credentials' })
    expect(await check(await appWith({ apple, google }, { bundle_id: '' }))).toEqual({
      ...{ apple: 'no_bundle_id', google: 'no_bundle_id' },
    })
    const strangers = await appWith({ apple: other.apple, google: other.google })
    expect(await check(strangers)).toEqual({ apple: 'refused', google: 'refused' })
  })

  test('is limited for each app', async () => {
    const [busy, other] = [await appWith({}), await appWith({})]
    for (let n = 0; n < limits.store_checks_max; n++) expect((await check(busy)).apple).toBe('no_credentials')
    const refused = await ask('POST', `/apps/${busy}/check-store`)
    expect(refused).toMatchObject({ status: 429, body: { error: 'rate_limited' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await check(other)).apple).toBe('no_credentials')
  })

  test('of an app that is not there is refused', async () => {
    expect(await ask('POST', '/apps/app_none/check-store')).toMatchObject({
      status: 404,
      body: { error: 'unknown_app' },
    })
  })
})
