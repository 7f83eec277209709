import { CodedError } from '@tributary/contracts/errors'
import { openTargets } from '@tributary/domain/partner/targets'
import { addOwed, endTries, takeDue } from '@tributary/tables/partners/due-postbacks'
import { expect, test } from 'vitest'
import { adminApiUnderTest } from './admin-api-under-test.ts'

const now_ms = Date.UTC(2026, 0, 2)
const names: Record<string, string[]> = {
  'public.example': ['93.184.216.34', '2606:2800:220:1::1'],
  'inside.example': ['10.1.2.3'],
  'mixed.example': ['93.184.216.34', '127.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
}
const engine = { away: false }
const { ask, pool, query, newApp, auditOf } = adminApiUnderTest({
  now: () => now_ms,
  targets: openTargets(['127.0.0.8/31']),
  async resolve(hostname) {
    const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? (/^[\d.]+$/.test(hostname) ? hostname : undefined)
    const found = literal === undefined ? names[hostname] : [literal]
    if (found === undefined) throw new Error('ENOTFOUND')
    return found
  },
  // No install was ever attributed.
  clickhouse: {
    async query() {
      if (engine.away) throw new CodedError('unavailable')
      return []
    },
  } as never,
})

const good = { partner: 'ads', postback_url: 'https://public.example/p?c={ext_click_id}' }

test.each([
  ...[
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.0.1/',
    'https://169.254.169.254/',
  ],
  ...['https://100.64.0.1/', 'https://0.0.0.0/', 'https://224.0.0.1/', 'https://2130706433/', 'https://0x7f.1/'],
  ...[
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:8.8.8.8]/',
  ],
  ...['https://[fe80::1]/', 'https://[fd00::1]/', 'https://[64:ff9b::7f00:1]/', 'https://inside.example/'],
  ...['https://mixed.example/', 'https://mapped.example/', 'https://metadata.example/', 'http://public.example/'],
  ...['https://public.example:8443/', 'https://public.example:80/', 'ftp://public.example/', 'https://{sub1}.example/'],
  ...[
    'https://public.example/{nope}',
    'https://public.example/#{sub1}',
    'https://user:{sub1}@public.example/',
    'public.example',
  ],
])('%s is refused when it is saved, with its field', async (postback_url) => {
  const { app_id } = await newApp()
  for (const [method, path] of [
    ['PUT', '/partners'],
    ['POST', '/partners/preview'],
  ] as const)
    expect(await ask(method, path, { app_id, ...good, postback_url })).toMatchObject({
      status: 400,
      body: { error: 'invalid_field', field: 'postback_url' },
    })
  expect(await query('SELECT 1 FROM partner_postbacks WHERE app_id = $1', [app_id])).toEqual([])
})

test.each(['https://public.example/', 'https://93.184.216.34/', 'https://nowhere.example/', 'http://127.0.0.9:8080/x'])(
  '%s may be saved',
  async (postback_url) => {
    const { app_id } = await newApp()
    expect(await ask('PUT', '/partners', { app_id, ...good, postback_url })).toMatchObject({ status: 200 })
  },
)

test('the refusal of a name tells nobody which address it has inside', async () => {
  const { app_id } = await newApp()
  for (const host of ['inside.example', 'mixed.example', 'metadata.example']) {
    const { status, body } = await ask('PUT', '/partners', { app_id, ...good, postback_url: `https://${host}/` })
    expect([status, body.message]).toEqual([400, expect.stringContaining(host)])
    for (const address of names[host]!) expect(body.message).not.toContain(address)
  }
})

test('a request that fails because the engine is away has set nothing', async () => {
  const { app_id } = await newApp()
  engine.away = true
  const answer = await ask('PUT', '/partners', { app_id, ...good }).finally(() => {
    engine.away = false
  })
  expect(answer).toMatchObject({ status: 503 })
  expect(await query('SELECT 1 FROM partner_postbacks WHERE app_id = $1', [app_id])).toEqual([])
})

test('settings have defaults, keep their secret until it is taken away, and their history is in the audit log without it', async () => {
  const { app_id } = await newApp()
  const set = async (more: object = {}) => (await ask('PUT', '/partners', { app_id, ...good, ...more })).body
  const first = await set({ hmac_secret: 'very-secret', partner: 'ADS' })
  expect(first).toEqual({
    ...{ app_id, ...good, method: 'GET', events: ['install'], flagged: 'skip', signed: true, set_at_ms: now_ms },
    preview: { method: 'GET', url: 'https://public.example/p?c=test-click', body: null, install_uuid: null },
  })
  expect(await set({ method: 'POST', events: ['install', 'purchase', 'purchase'] })).toMatchObject({
    ...{ method: 'POST', events: ['install', 'purchase'], signed: true },
  })
  expect(await set({ hmac_secret: null })).toMatchObject({ method: 'GET', signed: false })
  const listed = (await ask('GET', `/partners?app_id=${app_id}`)).body
  expect(listed.partners).toMatchObject([{ partner: 'ads', signed: false, due: 0, dead: 0, oldest_due_ms: null }])
  expect((await ask('POST', '/partners/remove', { app_id, partner: 'ads' })).body).toEqual({
    ...{ app_id, partner: 'ads', status: 'removed' },
  })
  expect((await ask('GET', `/partners?app_id=${app_id}`)).body).toEqual({ partners: [] })
  expect((await ask('POST', '/partners/remove', { app_id, partner: 'ads' })).body.error).toBe('unknown_partner')
  const logged = (await auditOf(app_id)).filter(({ action }) => action.startsWith('partner.'))
  expect(logged.map(({ action }) => action)).toEqual([...Array(3).fill('partner.set'), 'partner.remove'])
  expect(logged[0]).toMatchObject({ detail: { hmac_secret: 'new', signed: true } })
  const rows = await query('SELECT to_jsonb(s) AS row FROM partner_secrets s')
  expect(JSON.stringify([logged, first, listed, rows])).not.toContain('very-secret')
})

test('dead postbacks of one partner are due again by command, with the settings of now; those of others are not', async () => {
  const { app_id } = await newApp()
  for (const partner of ['ads', 'other']) {
    await ask('PUT', '/partners', { app_id, ...good, partner })
    const [{ id }] = await query('SELECT max(settings_id)::text AS id FROM partner_postbacks')
    const content = { install_uuid: 'i', event_name: 'install', revenue: null } as never
    const one = { app_id, partner, install_uuid: 'i', event_key: 'install', settings_id: id }
    await addOwed(pool(), [{ ...one, content, received_at_ms: 0, dated_at_ms: 0 }], now_ms)
    const [taken] = await takeDue(pool(), [{ app_id, partner, max: 9 }])
    await endTries(pool(), [{ ...taken!, state: 'dead', pause_ms: 0, reason: 'status_404' }], now_ms)
  }
  expect((await ask('GET', `/partners?app_id=${app_id}`)).body.partners).toMatchObject([{ dead: 1 }, { dead: 1 }])
  await ask('PUT', '/partners', { app_id, ...good, postback_url: 'https://public.example/new' })
  expect((await ask('POST', '/partners/retry', { app_id, partner: 'ads' })).body).toEqual({ retried: 1 })
  expect((await ask('GET', `/partners?app_id=${app_id}`)).body.partners).toMatchObject([
    { partner: 'ads', due: 1, dead: 0 },
    { partner: 'other', due: 0, dead: 1 },
  ])
  const [again] = await takeDue(pool(), [{ app_id, partner: 'ads', max: 9 }])
  expect(again).toMatchObject({ settings: { postback_url: 'https://public.example/new' }, tries: 2 })
})
