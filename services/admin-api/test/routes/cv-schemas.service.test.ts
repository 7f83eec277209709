import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { coarseValues, sequenceIndexes, windowHours } from '@tributary/contracts/postback/cv-schema'
import { decodeValue } from '@tributary/domain/postback/cv-schema'
import { expect, test } from 'vitest'
import { adminApiUnderTest } from '../admin-api-under-test.ts'

const made_at_ms = Date.UTC(2026, 0, 2)
const { ask, newApp, newCompany, auditOf } = adminApiUnderTest({ now: () => made_at_ms })

const first = (...fine: object[]) => ({ postback_sequence_index: 0, window_hours: 48, lock_window: false, fine })
const opened = { value: 0, name: 'opened' }
const bought = { value: 1, name: 'bought', revenue_min_usd: 0.99, revenue_max_usd: 5, event_name: 'purchase' }
const publish = (app_id: string, schema: unknown) => ask('POST', '/cv-schemas', { app_id, schema })
const show = (app_id: string, more = '') => ask('GET', `/cv-schemas?app_id=${app_id}${more}`)

test('a schema is published as version 1, shown with its version, and written to the audit log', async () => {
  const { app_id } = await newApp()
  expect((await show(app_id)).body).toEqual({ app_id, version: null, schema: null })
  const { status, body } = await publish(app_id, { postbacks: [first(opened, bought)] })
  expect([status, body]).toEqual([200, { app_id, version: 1 }])
  const schema = { version: 1, postbacks: [{ ...first(opened, bought), coarse: [] }] }
  expect((await show(app_id)).body).toEqual({ app_id, version: 1, schema })
  expect((await auditOf(app_id)).at(-1)).toMatchObject({ action: 'cv_schema.publish', detail: { version: 1 } })
})

test('the versions before stay as they were, and a version in what is given is ignored', async () => {
  const { app_id } = await newApp()
  await publish(app_id, { postbacks: [first(opened)] })
  const { schema } = (await show(app_id)).body
  expect((await publish(app_id, { ...schema, postbacks: [first(bought)] })).body).toEqual({ app_id, version: 2 })
  expect((await show(app_id, '&version=1')).body).toEqual({ app_id, version: 1, schema })
  expect((await show(app_id)).body).toMatchObject({ version: 2, schema: { version: 2 } })
  expect(await show(app_id, '&version=3')).toMatchObject({ status: 404, body: { error: 'unknown_cv_schema' } })
})

test('what a schema would change is told, and nothing is published', async () => {
  const { app_id } = await newApp()
  const compare = (schema: unknown) => ask('POST', '/cv-schemas/compare', { app_id, schema })
  const added = { postback_sequence_index: 0, before: null }
  const window = { window_hours: 48, lock_window: false }
  expect((await compare({ postbacks: [first(opened)] })).body).toEqual({
    changes: [
      { ...added, part: 'postback', value: null, after: window },
      { ...added, part: 'fine', value: 0, after: opened },
    ],
  })
  await publish(app_id, { postbacks: [first(opened)] })
  expect((await compare({ postbacks: [first(opened)] })).body).toEqual({ changes: [] })
  expect((await compare({ postbacks: [first(bought, opened)] })).body).toEqual({
    changes: [{ ...added, part: 'fine', value: 1, after: bought }],
  })
  expect(await compare({ postbacks: [first(opened, opened)] })).toMatchObject({ status: 400 })
  expect((await show(app_id)).body.version).toBe(1)
})

test('the schema of examples/cv-schema is published, and its bands decode', async () => {
  const { app_id } = await newApp()
  const file = join(import.meta.dirname, '../../../../examples/cv-schema/puzzle-game.json')
  const { postbacks } = JSON.parse(await readFile(file, 'utf8'))
  expect((await publish(app_id, { postbacks })).body).toEqual({ app_id, version: 1 })
  const { schema } = (await show(app_id)).body
  expect(schema).toEqual({ version: 1, postbacks })
  const decode = (sequence_index: 0 | 2, fine: number | null, coarse: 'medium' | null = null) =>
    decodeValue(schema, { sequence_index, fine, coarse })
  expect(decode(0, 4)).toMatchObject({ event_name: 'level_20', revenue_min_usd: null })
  expect(decode(0, 8)).toMatchObject({ revenue_min_usd: 0.01, revenue_max_usd: 0.5 })
  expect(decode(0, 44)).toMatchObject({ revenue_min_usd: 200, revenue_max_usd: 200 })
  expect(decode(2, null, 'medium')).toMatchObject({ revenue_min_usd: 0.01, revenue_max_usd: 50 })
})

test.each<[what: string, schema: unknown, field: string, message: string]>([
  ['no object', [], 'schema', ''],
  ['no postbacks', { postbacks: [] }, 'schema.postbacks', 'at least 1'],
  ['another field', { postbacks: [{ ...first(), colour: 1 }] }, 'schema.postbacks.0.colour', ''],
  [
    'a window of no index',
    { postbacks: [{ ...first(), window_hours: 24 }] },
    'schema.postbacks.0.window_hours',
    '48, 168 or 840',
  ],
  [
    'a value above 63',
    { postbacks: [first(opened, { value: 64, name: 'x' })] },
    'schema.postbacks.0.fine.1.value',
    'at most 63',
  ],
  [
    'a value that is there twice',
    { postbacks: [first(opened, bought, opened)] },
    'schema.postbacks.0.fine.2.value',
    'Fine value 0 of sequence index 0 is there twice.',
  ],
  [
    'bands that overlap',
    { postbacks: [first(bought, { ...bought, value: 2, revenue_min_usd: 4 })] },
    'schema.postbacks.0.fine.1.revenue_min_usd',
    'Fine value 2 of sequence index 0 overlaps Fine value 1 of sequence index 0.',
  ],
])('%s is refused by its place, and nothing is published', async (_what, schema, field, message) => {
  const { app_id } = await newApp()
  const { status, body } = await publish(app_id, schema)
  expect([status, body.error, body.field]).toEqual([400, 'invalid_field', field])
  expect(body.message).toContain(message)
  expect((await show(app_id)).body.version).toBeNull()
})

test('an unknown app, and a version that is no number, are refused', async () => {
  for (const app_id of ['none', `app_${'0'.repeat(20)}`]) {
    const unknown = { status: 404, body: { error: 'unknown_app' } }
    expect(await show(app_id)).toMatchObject(unknown)
    expect(await publish(app_id, { postbacks: [first()] })).toMatchObject(unknown)
    expect(await ask('POST', '/cv-schemas/compare', { app_id, schema: { postbacks: [first()] } })).toMatchObject(
      unknown,
    )
  }
  const { app_id } = await newApp()
  for (const version of ['0', '-1', '1.5', 'x', '', '9999999999'])
    expect(await show(app_id, `&version=${version}`)).toMatchObject({ status: 400, body: { field: 'version' } })
})

test('a store id that another company has is 409, and an operator moves it', async () => {
  const { app_id: from, store_id } = await newApp()
  const { app_id: to } = await newApp()
  const taken = { status: 409, body: { error: 'store_id_taken', field: 'store_id' } }
  const { company_id } = await newCompany()
  expect(await ask('POST', '/apps', { company_id, name: 'x', platform: 'ios', store_id })).toMatchObject(taken)
  expect(await ask('PATCH', `/apps/${to}`, { store_id })).toMatchObject(taken)
  const moved = await ask('POST', `/apps/${to}/move-store-id`, { store_id })
  expect(moved).toMatchObject({ status: 200, body: { app_id: to, store_id, owns_store_id: true } })
  expect(await ask('PATCH', `/apps/${from}`, { store_id })).toMatchObject(taken)
  expect((await auditOf(to)).at(-1)).toMatchObject({ action: 'app.move_store_id', detail: { store_id, from } })
})

test('development keys are off until they are switched on', async () => {
  const { app_id } = await newApp()
  expect((await ask('PATCH', `/apps/${app_id}`, { name: 'x' })).body).toMatchObject({ development_keys: false })
  expect((await ask('PATCH', `/apps/${app_id}`, { development_keys: true })).body).toMatchObject({
    development_keys: true,
  })
  expect((await ask('PATCH', `/apps/${app_id}`, { name: 'y' })).body).toMatchObject({ development_keys: true })
})

test('the largest schema that the rules allow is published, compared and shown', async () => {
  const { app_id } = await newApp()
  const texts = { name: '値'.repeat(limits.cv_name_chars_max), event_name: '値'.repeat(limits.event_name_chars_max) }
  const band = (n: number) => ({ ...texts, revenue_min_usd: n, revenue_max_usd: n + 0.5 })
  const fine = Array.from({ length: limits.cv_fine_value_max + 1 }, (_, value) => ({ value, ...band(value) }))
  const coarse = coarseValues.map((value, n) => ({ value, ...band(n) }))
  const postbacks = sequenceIndexes.map((postback_sequence_index) => {
    return { postback_sequence_index, window_hours: windowHours[postback_sequence_index], fine, coarse }
  })
  expect(await ask('POST', '/cv-schemas/compare', { app_id, schema: { postbacks } })).toMatchObject({ status: 200 })
  expect((await publish(app_id, { postbacks })).body).toEqual({ app_id, version: 1 })
  expect((await show(app_id)).body.schema.postbacks).toMatchObject(postbacks)
})
