import { expect, it } from 'vitest'
import type { Received } from '../fake-service.ts'
import { fileWith, tributary } from '../run-tributary.ts'
import { sent, service } from './fake-admin-api.ts'

const first = { postback_sequence_index: 0, window_hours: 48, lock_window: true }
const bought = { value: 1, name: 'bought', revenue_min_usd: 0.99, revenue_max_usd: 5, event_name: 'purchase' }
const postbacks = [
  {
    ...first,
    fine: [{ value: 0, name: 'opened' }, bought, { value: 2, name: 'spender', revenue_min_usd: 5 }],
    coarse: [{ value: 'low', name: 'opened' }],
  },
]
const shown = { app_id: 'app_1', version: 2, schema: { version: 2, postbacks } }
const changes = [
  {
    ...{ postback_sequence_index: 0, part: 'postback', value: null },
    ...{ before: { window_hours: 48, lock_window: false }, after: { window_hours: 48, lock_window: true } },
  },
  { postback_sequence_index: 0, part: 'fine', value: 1, before: null, after: bought },
  { postback_sequence_index: 0, part: 'coarse', value: 'high', before: { value: 'high', name: 'x' }, after: null },
]

/** A service that keeps what it is sent. */
async function world() {
  const requested: unknown[] = []
  const take = (body: unknown) => (request: Received) => {
    requested.push(sent(request))
    return { status: 200, body }
  }
  const env = await service({
    'POST /admin/api/v1/cv-schemas': take({ app_id: 'app_1', version: 2 }),
    'POST /admin/api/v1/cv-schemas/compare': take({ changes }),
    'GET /admin/api/v1/cv-schemas?app_id=app_1': () => ({ status: 200, body: shown }),
    'GET /admin/api/v1/cv-schemas?app_id=app_1&version=2': () => ({ status: 200, body: shown }),
    'GET /admin/api/v1/cv-schemas?app_id=app_2': () => ({
      status: 200,
      body: { app_id: 'app_2', version: null, schema: null },
    }),
    'GET /admin/api/v1/cv-schemas?app_id=app_3&version=9': () => ({
      status: 404,
      body: { error: 'unknown_cv_schema', field: 'version' },
    }),
  })
  const run = (...words: string[]) => tributary(['cv-schema', ...words], env)
  return { requested, run, env }
}

it('prints with --json exactly what the service answers, and sends the file as it is', async () => {
  const { requested, run } = await world()
  const file = await fileWith('schema.json', JSON.stringify({ postbacks }))
  for (const [words, answer] of [
    [['publish', '--app', 'app_1', file], { app_id: 'app_1', version: 2 }],
    [['diff', '--app', 'app_1', file], { changes }],
    [['show', '--app', 'app_1'], shown],
    [['show', '--app', 'app_1', '--version', '2'], shown],
    [['show', '--app', 'app_2'], { app_id: 'app_2', version: null, schema: null }],
  ] as const) {
    const { code, stdout, stderr } = await run(...words, '--json')
    expect([code, stderr, JSON.parse(stdout)]).toEqual([0, '', answer])
  }
  const given = { app_id: 'app_1', schema: { postbacks } }
  expect(requested).toEqual([given, given])
})

it('takes what show --json printed as a file', async () => {
  const { requested, run } = await world()
  await run('publish', '--app', 'app_1', await fileWith('schema.json', JSON.stringify({ ...shown, app_id: 'app_9' })))
  expect(requested).toEqual([{ app_id: 'app_1', schema: shown.schema }])
})

it('shows a schema as a table of each postback', async () => {
  const { run } = await world()
  expect((await run('show', '--app', 'app_1')).stdout).toBe(
    [
      'app_1, version 2',
      '',
      'Postback 0: until 48 hours after the install, locked by the first value',
      'value\tname\tevent_name\trevenue_usd',
      '0\topened\t-\t-',
      '1\tbought\tpurchase\t0.99 to below 5',
      '2\tspender\t-\t5 or more',
      'low\topened\t-\t-',
      '',
    ].join('\n'),
  )
  expect((await run('show', '--app', 'app_2')).stdout).toBe('app_2 has published no schema.\n')
})

it('tells what a publication would change, and that it is done', async () => {
  const { run } = await world()
  const file = await fileWith('schema.json', JSON.stringify({ postbacks }))
  const window = 'until 48 hours after the install'
  expect((await run('diff', '--app', 'app_1', file)).stdout).toBe(
    [
      'change\tpostback\tvalue\tbefore\tafter',
      `changed\t0\twindow\t${window}\t${window}, locked by the first value`,
      'added\t0\tfine 1\t-\tbought, purchase, 0.99 to below 5 USD',
      'removed\t0\tcoarse high\tx\t-',
      '',
    ].join('\n'),
  )
  expect((await run('publish', '--app', 'app_1', file)).stdout).toMatch(/^Version 2 is live\..* installs from now on/)
})

it('refuses a file that is not there or no JSON, and passes on the place of a fault', async () => {
  const { run, requested } = await world()
  const failed = async (file: string) => JSON.parse((await run('publish', '--app', 'app_1', file, '--json')).stderr)
  expect(await failed('/nowhere.json')).toMatchObject({ error: 'file_not_found' })
  expect(await failed(await fileWith('schema.json', '{'))).toMatchObject({ error: 'bad_json' })
  expect(requested).toEqual([])
  const field = 'schema.postbacks.0.fine.2.value'
  const body = { error: 'invalid_field', field, message: 'Fine value 0 of sequence index 0 is there twice.' }
  const env = await service({ 'POST /admin/api/v1/cv-schemas': () => ({ status: 400, body }) })
  const refused = await tributary(['cv-schema', 'publish', '--app', 'app_1', await fileWith('schema.json', '{}')], env)
  expect([refused.code, refused.stderr]).toEqual([1, `invalid_field: ${body.message} (${field})\n`])
})

it('says that a version was not published', async () => {
  const body = { error: 'unknown_cv_schema', field: 'version' }
  const env = await service({ 'GET /admin/api/v1/cv-schemas?app_id=app_1&version=9': () => ({ status: 404, body }) })
  const { code, stderr } = await tributary(['cv-schema', 'show', '--app', 'app_1', '--version', '9'], env)
  expect([code, stderr]).toEqual([
    1,
    'unknown_cv_schema: The app has published no schema of this version. (--version)\n',
  ])
})

it('says what a conversion value means by a schema that is not published', async () => {
  const file = await fileWith('schema.json', JSON.stringify({ postbacks }))
  const decode = (...words: string[]) => tributary(['cv-schema', 'decode', file, ...words], {})
  const json = async (...words: string[]) => JSON.parse((await decode(...words, '--json')).stdout)
  const decoded = { name: 'bought', event_name: 'purchase', revenue_min_usd: 0.99, revenue_max_usd: 5 }
  expect(await json('--value', '1')).toEqual({ index: 0, value: 1, coarse: null, decoded })
  expect(await json('--value', '63', '--coarse', 'low')).toEqual({ index: 0, value: 63, coarse: 'low', decoded: null })
  expect(await json('--coarse', 'low')).toMatchObject({ decoded: { name: 'opened', revenue_min_usd: null } })
  expect(await json('--coarse', 'low', '--index', '1')).toMatchObject({ index: 1, decoded: null })
  const texts = await Promise.all([
    decode('--value', '1'),
    decode('--value', '2', '--coarse', 'low'),
    decode('--value', '9'),
  ])
  expect(texts.map(({ stdout }) => stdout)).toEqual([
    'Postback 0, fine value 1: bought, purchase, 0.99 to below 5 USD\n',
    'Postback 0, fine value 2 and coarse value low (the fine value decides): spender, 5 USD or more\n',
    'Postback 0, fine value 9: the schema says nothing of it.\n',
  ])
  for (const words of [[], ['--value', '64'], ['--coarse', 'big'], ['--value', '1', '--index', '3']])
    expect((await decode(...words)).code, words.join(' ')).toBe(2)
  const twice = await fileWith('twice.json', JSON.stringify({ postbacks: [...postbacks, ...postbacks] }))
  const refused = await tributary(['cv-schema', 'decode', twice, '--value', '1'], {})
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^invalid_field: .*twice.*postbacks\.1/) })
})
