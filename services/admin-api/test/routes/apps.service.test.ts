import { App, SecretRotated } from '@tributary/contracts/admin/apps'
import { limits } from '@tributary/contracts/limits'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const hour_ms = 3_600_000
const made_at_ms = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const clock = { now_ms: made_at_ms }
const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const { ask, query, newApp, newCompany, auditOf } = adminApiUnderTest({ now: () => clock.now_ms, masterKeys })

async function rotate(app_id: string, body: object = {}) {
  const answer = await ask('POST', `/apps/${app_id}/rotate-secret`, body)
  expect(answer.status).toBe(200)
  expect(answer.headers['cache-control']).toBe('no-store')
  return SecretRotated.strict().parse(answer.body)
}

/** The secrets in the tables: the secret of today, then the old ones with their ends. */
async function secretsOf(app_id: string) {
  const [app] = await query('SELECT * FROM apps WHERE app_id = $1', [app_id])
  const { signing_secret_key_id: key_id, signing_secret_iv: iv } = app
  const { signing_secret_ciphertext: ciphertext, signing_secret_tag: tag } = app
  const old = await query('SELECT * FROM old_signing_secrets WHERE app_id = $1 ORDER BY id', [app_id])
  const binding = { purpose: 'signing_secret', company_id: app.company_id, app_id } as const
  return [
    masterKeys.decrypt({ key_id, iv, ciphertext, tag }, binding),
    ...old.map((row) => [masterKeys.decrypt(row, binding), (row.ends_at.getTime() - clock.now_ms) / hour_ms]),
  ]
}

test('the list of a company holds its own apps with every field that is no secret', async () => {
  const { app_id, app_key, company_id, signing_secret, store_id } = await newApp()
  await newApp()
  const { status, body } = await ask('GET', `/apps?company_id=${company_id}`)
  expect(status).toBe(200)
  expect(App.strict().array().parse(body.apps)).toEqual([
    {
      ...{ app_id, company_id, app_key, name: 'Game', platform: 'ios', store_id, bundle_id: null },
      ...{
        provider_token: null,
        owns_store_id: true,
        development_keys: false,
        valid_receipts_only: false,
        has_apple_key: false,
        has_google_account: false,
        google_push_audience: null,
        google_push_email: null,
        created_at_ms: made_at_ms,
        old_secrets_end_ms: [],
      },
      ...{ click_window_hours: 168, probabilistic: false, probabilistic_window_hours: 24, reinstall_days: 90 },
    },
  ])
  expect(JSON.stringify(body)).not.toContain(signing_secret)
  expect((await ask('GET', `/apps?company_id=${(await newCompany()).company_id}`)).body).toEqual({ apps: [] })
})

test('a change of an app changes what is given and nothing else', async () => {
  const { app_id, store_id } = await newApp()
  const { status, body } = await ask('PATCH', `/apps/${app_id}`, { name: 'Run', bundle_id: 'com.example.run' })
  expect(status).toBe(200)
  expect(App.strict().parse(body)).toMatchObject({ name: 'Run', bundle_id: 'com.example.run', store_id })
  const logged = (await auditOf(app_id)).map(({ action, detail }) => ({ action, detail }))
  expect(logged[1]).toEqual({ action: 'app.set', detail: { name: 'Run', bundle_id: 'com.example.run' } })
})

test('what the tokens of Google must name is shown, and taken away by an empty text', async () => {
  const { app_id } = await newApp()
  const set = async (body: object) => (await ask('PATCH', `/apps/${app_id}`, body)).body
  const [google_push_audience, google_push_email] = [
    'https://events.example.com/',
    'push@example.iam.gserviceaccount.com',
  ]
  await set({ google_push_audience })
  const both = { google_push_audience, google_push_email }
  expect(App.strict().parse(await set({ google_push_email }))).toMatchObject(both)
  expect(await set({ name: 'Run' })).toMatchObject(both)
  expect((await auditOf(app_id)).at(-2)).toMatchObject({ action: 'app.set', detail: { google_push_email } })
  expect(await set({ google_push_audience: '' })).toMatchObject({ google_push_audience: null, google_push_email })
  expect(await set({ google_push_email: '' })).toMatchObject({ google_push_audience: null, google_push_email: null })
})

test.each([
  ['google_push_email', 'no address'],
  ['google_push_email', 'nobody'],
  ['google_push_email', `${'a'.repeat(limits.google_push_chars_max)}@b`],
  ['google_push_audience', 'two words'],
  ['google_push_audience', 'a'.repeat(limits.google_push_chars_max + 1)],
])('%s of %s is refused', async (field, value) => {
  const { app_id } = await newApp()
  const refused = await ask('PATCH', `/apps/${app_id}`, { [field]: value })
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
})

test('the id of an iOS app in the App Store is digits, and a change to another one does nothing', async () => {
  const { app_id, company_id, store_id } = await newApp()
  const refused = await ask('PATCH', `/apps/${app_id}`, { store_id: 'id77', name: 'Run' })
  const message = expect.stringContaining('the digits after `id`')
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'store_id', message } })
  const [app] = (await ask('GET', `/apps?company_id=${company_id}`)).body.apps
  expect(app).toMatchObject({ name: 'Game', store_id })
  expect((await ask('PATCH', `/apps/${app_id}`, { store_id: '' })).body).toMatchObject({ store_id: '' })
})

test('the store id of an Android app is any text', async () => {
  const { company_id } = await newCompany()
  const given = { company_id, name: 'Game', platform: 'android', store_id: 'galaxy-7' }
  const { status, body } = await ask('POST', '/apps', given)
  expect(status).toBe(200)
  expect((await ask('PATCH', `/apps/${body.app_id}`, { store_id: 'id 8' })).body).toMatchObject({ store_id: 'id 8' })
})

test('changes of different fields at once all hold', async () => {
  const { app_id, company_id } = await newApp()
  const changes = { name: 'Run', bundle_id: 'com.example.run', store_id: '77', provider_token: '9' }
  const rotations = [rotate(app_id), rotate(app_id)]
  await Promise.all([
    ...Object.entries(changes).map(([field, value]) => ask('PATCH', `/apps/${app_id}`, { [field]: value })),
    ...rotations,
  ])
  const [app] = (await ask('GET', `/apps?company_id=${company_id}`)).body.apps
  expect(app).toMatchObject(changes)
  expect(app.old_secrets_end_ms).toHaveLength(2)
})

test('a rotation keeps the old secret, encrypted, for a day or as long as it is told', async () => {
  const { app_id, signing_secret: first } = await newApp()
  const { signing_secret: second, old_secrets_end_ms } = await rotate(app_id)
  expect(second).toMatch(/^[0-9a-f]{64}$/)
  expect(second).not.toBe(first)
  expect(old_secrets_end_ms).toEqual([clock.now_ms + 24 * hour_ms])
  expect(await secretsOf(app_id)).toEqual([second, [first, 24]])
  expect((await auditOf(app_id)).at(-1)).toMatchObject({ action: 'app.rotate_secret', detail: { overlap_hours: 24 } })
})

test('a second rotation inside an overlap leaves every old secret its own end', async () => {
  const { app_id, signing_secret: first } = await newApp()
  const { signing_secret: second } = await rotate(app_id, { overlap_hours: 48 })
  const { signing_secret: third, old_secrets_end_ms } = await rotate(app_id, { overlap_hours: 1 })
  expect(old_secrets_end_ms).toEqual([clock.now_ms + hour_ms, clock.now_ms + 48 * hour_ms])
  expect(await secretsOf(app_id)).toEqual([third, [first, 48], [second, 1]])
})

test('two rotations at once leave one new secret, and both that were before it', async () => {
  const { app_id, signing_secret: first } = await newApp()
  const [a, b] = await Promise.all([rotate(app_id), rotate(app_id)])
  const [newest, ...old] = await secretsOf(app_id)
  expect([newest, ...old.map(([secret]) => secret)].toSorted()).toEqual(
    [first, a.signing_secret, b.signing_secret].toSorted(),
  )
  expect([a.signing_secret, b.signing_secret]).toContain(newest)
})

test('no overlap ends every old secret at once', async () => {
  const { app_id } = await newApp()
  await rotate(app_id)
  const { signing_secret, old_secrets_end_ms } = await rotate(app_id, { overlap_hours: 0 })
  expect(old_secrets_end_ms).toEqual([])
  expect(await secretsOf(app_id)).toEqual([signing_secret])
})

test('a limit of a field is told in plain words', async () => {
  const { app_id } = await newApp()
  const refused = await ask('POST', `/apps/${app_id}/rotate-secret`, { overlap_hours: 8761 })
  expect(refused.body).toMatchObject({ error: 'invalid_field', message: 'It must be at most 8760.' })
})

test('a rotation that leaves too many old secrets is refused, and changes nothing', async () => {
  const { app_id } = await newApp()
  for (const overlap_hours of [24, 1, 24]) await rotate(app_id, { overlap_hours })
  const before = await secretsOf(app_id)
  const refused = await ask('POST', `/apps/${app_id}/rotate-secret`, {})
  expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'overlap_hours' } })
  expect(refused.body.message).toContain(new Date(clock.now_ms + hour_ms).toISOString())
  expect(await secretsOf(app_id)).toEqual(before)
  clock.now_ms += hour_ms
  await rotate(app_id)
  expect((await secretsOf(app_id)).length).toBe(4)
})

test('settings of attribution change as given, and the history keeps each with its time', async () => {
  const { app_id } = await newApp()
  const changes = [{ click_window_hours: 1, probabilistic: true }, { reinstall_days: 30 }, { reinstall_days: 30 }]
  const first_ms = clock.now_ms
  for (const change of changes) {
    expect((await ask('PATCH', `/apps/${app_id}`, change)).body).toMatchObject(change)
    clock.now_ms += hour_ms
  }
  const kept = await query('SELECT * FROM attribution_settings WHERE app_id = $1 ORDER BY id', [app_id])
  const after = { click_window_hours: 1, probabilistic: true, probabilistic_window_hours: 24 }
  expect(kept).toMatchObject([
    { ...after, reinstall_days: 90, valid_from: new Date(first_ms) },
    { ...after, reinstall_days: 30, valid_from: new Date(first_ms + hour_ms) },
  ])
})

test('a clock that is behind does not put new settings before old ones', async () => {
  const { app_id } = await newApp()
  const first_ms = clock.now_ms
  await ask('PATCH', `/apps/${app_id}`, { reinstall_days: 30 })
  clock.now_ms -= hour_ms
  await ask('PATCH', `/apps/${app_id}`, { reinstall_days: 31 })
  clock.now_ms = first_ms
  const kept = await query('SELECT valid_from FROM attribution_settings WHERE app_id = $1 ORDER BY id', [app_id])
  expect(kept.map(({ valid_from }) => valid_from.getTime())).toEqual([first_ms, first_ms])
  expect((await ask('PATCH', `/apps/${app_id}`, {})).body).toMatchObject({ reinstall_days: 31 })
})

test('settings changed at the same time all hold', async () => {
  const { app_id } = await newApp()
  const changes = { click_window_hours: 1, probabilistic: true, probabilistic_window_hours: 2, reinstall_days: 3 }
  const changed = Object.entries(changes).map(([name, value]) => ask('PATCH', `/apps/${app_id}`, { [name]: value }))
  await Promise.all(changed)
  expect((await ask('PATCH', `/apps/${app_id}`, {})).body).toMatchObject(changes)
})

test('settings of attribution are never changed or removed in the table', async () => {
  const { app_id } = await newApp()
  await ask('PATCH', `/apps/${app_id}`, { reinstall_days: 30 })
  for (const sql of ['UPDATE attribution_settings SET reinstall_days = 1', 'DELETE FROM attribution_settings']) {
    await expect(query(sql)).rejects.toThrow('is refused')
  }
})
