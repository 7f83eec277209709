import { expect, it } from 'vitest'
import { tributary } from '../run-tributary.ts'
import { sent, service } from './fake-admin-api.ts'

const made = { link_id: 'k3J9xQb7Zt1a', url: 'https://go.example.com/l/k3J9xQb7Zt1a' }
const link = {
  ...{ ...made, app_id: 'app_1', partner: 'acme', campaign: 'summer', ad_group: null, creative: null },
  ...{ fallback_url: null, deep_link: 'acme://x', countries: ['AT', 'DE'], lookback_hours: 24, honeypot: false },
  ...{ status: 'enabled', created_at_ms: Date.UTC(2026, 0, 2) },
}

it('makes a link of all that is given, and leaves each check to the service', async () => {
  const requested: unknown[] = []
  const env = await service({
    'POST /admin/api/v1/links': (request) => {
      requested.push(sent(request))
      return { status: 200, body: made }
    },
  })
  const all =
    '--campaign c --ad-group g --creative v --fallback-url https://a.example --deep-link acme://x --countries de,FR --lookback-hours 24 --honeypot'
  for (const words of ['', all, '--lookback-hours 0 --countries XX', '--lookback-hours day --campaign c']) {
    const given = words === '' ? [] : words.split(' ')
    const run = await tributary(['link', 'create', '--app', 'app_1', '--partner', 'Acme', ...given, '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual(made)
  }
  const own = { app_id: 'app_1', partner: 'Acme' }
  expect(requested).toEqual([
    own,
    {
      ...{ ...own, campaign: 'c', ad_group: 'g', creative: 'v', fallback_url: 'https://a.example' },
      ...{ deep_link: 'acme://x', countries: ['de', 'FR'], lookback_hours: 24, honeypot: true },
    },
    { ...own, lookback_hours: 0, countries: ['XX'] },
    { ...own, lookback_hours: 'day', campaign: 'c' },
  ])
})

it.each([
  ['http://127.0.0.1:8080', true],
  ['http://localhost:8080', true],
  ['http://[::1]:8080', true],
  ['https://go.example.com', false],
])('warns a person whose link no phone can open: %s', async (base, warned) => {
  const answer = { ...made, url: `${base}/l/${made.link_id}` }
  const env = await service({ 'POST /admin/api/v1/links': () => ({ status: 200, body: answer }) })
  const create = ['link', 'create', '--app', 'app_1', '--partner', 'acme']
  const { code, stderr } = await tributary(create, env)
  expect([code, stderr.includes('TRIBUTARY_LINK_URL')]).toEqual([0, warned])
  const json = await tributary([...create, '--json'], env)
  expect([JSON.parse(json.stdout), json.stderr]).toEqual([answer, ''])
})

it('names the option of a refused value, and says in words that there is no such link', async () => {
  const refusal = { error: 'invalid_field', field: 'lookback_hours', message: 'It must be a number.' }
  const env = await service({
    'POST /admin/api/v1/links': () => ({ status: 400, body: refusal }),
    'POST /admin/api/v1/links/nope/disable': () => ({ status: 404, body: { error: 'unknown_link' } }),
  })
  const create = ['link', 'create', '--app', 'app_1', '--partner', 'acme', '--lookback-hours', 'day']
  const refused = await tributary(create, env)
  expect([refused.code, refused.stderr]).toEqual([1, 'invalid_field: It must be a number. (--lookback-hours)\n'])
  const missing = await tributary(['link', 'disable', 'nope'], env)
  expect([missing.code, missing.stderr]).toEqual([1, 'unknown_link: No tracking link has this id.\n'])
})

it('ends with 1 for what the service refuses, and with 2 for what is missing', async () => {
  const refusal = { error: 'invalid_field', field: 'partner', message: 'The partner name organic is reserved.' }
  const env = await service({ 'POST /admin/api/v1/links': () => ({ status: 400, body: refusal }) })
  const create = ['link', 'create', '--app', 'app_1']
  const refused = await tributary([...create, '--partner', 'organic', '--json'], env)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(JSON.parse(refused.stderr)).toMatchObject({ error: 'invalid_field' })
  expect(await tributary([...create, '--json'], env)).toMatchObject({ code: 2 })
})

it('lists links with every field, as a table for people', async () => {
  const env = await service({
    'GET /admin/api/v1/links?app_id=app_1': () => ({ status: 200, body: { links: [link] } }),
  })
  const list = ['link', 'list', '--app', 'app_1']
  expect(JSON.parse((await tributary([...list, '--json'], env)).stdout)).toEqual({ links: [link] })
  const shown = [
    'k3J9xQb7Zt1a',
    made.url,
    'acme',
    'summer',
    '-',
    '-',
    'AT,DE',
    '24',
    'no',
    'enabled',
    '2026-01-02T00:00:00.000Z',
  ]
  expect((await tributary(list, env)).stdout).toContain([...shown, '-', 'acme://x'].join('\t'))
})

it('enables and disables a link', async () => {
  const { link_id } = made
  const now = (status: string) => () => ({ status: 200, body: { link_id, status } })
  const env = await service({
    [`POST /admin/api/v1/links/${link_id}/enable`]: now('enabled'),
    [`POST /admin/api/v1/links/${link_id}/disable`]: now('disabled'),
  })
  expect(JSON.parse((await tributary(['link', 'disable', link_id, '--json'], env)).stdout)).toEqual({
    ...{ link_id, status: 'disabled' },
  })
  expect((await tributary(['link', 'enable', link_id], env)).stdout).toBe(`${link_id} is enabled\n`)
})
