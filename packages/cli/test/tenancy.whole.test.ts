import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent, sign } from '@tributary/testing/builders'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tributary } from './run-tributary.ts'

const data_dir = mkdtempSync(join(tmpdir(), 'tributary-tenancy-'))
let standalone: StandaloneProcess
let env: Record<string, string>

beforeAll(async () => {
  standalone = await startStandaloneProcess({ data_dir })
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  env = { TRIBUTARY_URL: standalone.url, TRIBUTARY_ADMIN_TOKEN: token }
})
afterAll(async () => {
  await standalone.stop('SIGTERM')
  rmSync(data_dir, { recursive: true, force: true })
})

/** The `--json` answer of a command. */
async function answerOf(words: string) {
  const run = await tributary([...words.split(' '), '--json'], env)
  expect(run).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(run.stdout)
}

async function tenant(options = '') {
  const company = await answerOf(`company create --name Acme${options}`)
  return { ...company, ...(await answerOf(`app create --company ${company.company_id} --name Game --platform ios`)) }
}

const statusOf = async (path: string, init: RequestInit): Promise<string> => {
  const answer = await fetch(standalone.url + path, init)
  return answer.ok ? 'ok' : ((await answer.json()) as { error: string }).error
}

const sendWithKey = (key: string) =>
  statusOf('/s2s/event', {
    ...{ method: 'POST', headers: { authorization: `Bearer ${key}` } },
    body: JSON.stringify(sdkEvent({ event_id: randomUUID() })),
  })

function sendSigned(app: { company_key: string; app_key: string }, signing_secret: string) {
  const body = JSON.stringify({ events: [sdkEvent()] })
  const headers = { 'x-service-company-key': app.company_key, 'x-service-app-key': app.app_key }
  const signature = { 'x-service-signature': sign(signing_secret, body) }
  return statusOf('/event', { method: 'POST', headers: { ...headers, ...signature }, body })
}

/** A change reaches gateways a moment after its answer, and not only when what they know is no longer fresh. */
const soon = (find: () => Promise<unknown>) =>
  expect.poll(find, { timeout: limits.credentials_fresh_ms * 0.8, interval: 20 })

test('a changed quota holds at once', async () => {
  const { company_id, app_id } = await tenant(' --quota 1')
  const { key } = await answerOf(`key create --app ${app_id} --label backend`)
  expect([await sendWithKey(key), await sendWithKey(key)]).toEqual(['ok', 'cap_exceeded'])
  expect(await answerOf(`company set ${company_id} --quota 2`)).toMatchObject({ plan: 'free', monthly_quota: 2 })
  await soon(() => sendWithKey(key)).toBe('ok')
  expect(await sendWithKey(key)).toBe('cap_exceeded')
  const changed = await answerOf(`company set ${company_id} --plan unlimited`)
  expect(changed).toMatchObject({ company_id, plan: 'unlimited', monthly_quota: null })
  await soon(() => sendWithKey(key)).toBe('ok')
  expect(await answerOf(`company show ${company_id}`)).toEqual(changed)
})

test('a key may do only what its scopes allow', async () => {
  const { app_id } = await tenant()
  const report = (key: string) => statusOf('/api/v1/reports/events', { headers: { authorization: `Bearer ${key}` } })
  const create = async (options: string) =>
    (await answerOf(`key create --app ${app_id} --label l${options}`)).key as string
  const analyst = await create(' --scope reports:read')
  const backend = await create(' --scope events:write')
  expect([await sendWithKey(analyst), await report(analyst)]).toEqual(['scope_missing', 'ok'])
  expect([await sendWithKey(backend), await report(backend)]).toEqual(['ok', 'scope_missing'])
  for (const options of ['', ' --scope events:write,reports:read', ' --scope events:write --scope reports:read']) {
    const key = await create(options)
    expect([await sendWithKey(key), await report(key)]).toEqual(['ok', 'ok'])
  }
  const { keys } = await answerOf(`key list --app ${app_id}`)
  const both = ['events:write', 'reports:read']
  expect(keys.map(({ scopes }: { scopes: string[] }) => scopes)).toEqual([
    ['reports:read'],
    ['events:write'],
    ...[both, both, both],
  ])
})

test('a rotated signing secret signs at once, and the old one until it ends', async () => {
  const app = await tenant()
  const rotate = async (options = '') => {
    const { signing_secret, old_secrets_end_ms } = await answerOf(`app rotate-secret ${app.app_id}${options}`)
    await soon(() => sendSigned(app, signing_secret)).toBe('ok')
    return { signing_secret, ends: old_secrets_end_ms.length }
  }
  const first = app.signing_secret
  expect(await sendSigned(app, first)).toBe('ok')
  const second = await rotate()
  expect([await sendSigned(app, first), second.ends]).toEqual(['ok', 1])
  const third = await rotate(' --overlap-hours 0')
  expect([await sendSigned(app, first), await sendSigned(app, second.signing_secret)]).toEqual([
    'bad_signature',
    'bad_signature',
  ])
  expect([await sendSigned(app, third.signing_secret), third.ends]).toEqual(['ok', 0])
})

test('apps are listed and changed', async () => {
  const { app_id, company_id, app_key } = await tenant()
  const changed = await answerOf(`app set ${app_id} --name Run --store-id 9123`)
  expect(changed).toMatchObject({ app_id, company_id, app_key, name: 'Run', store_id: '9123', bundle_id: null })
  expect(await answerOf(`app list --company ${company_id}`)).toEqual({ apps: [changed] })
})

test('a published schema reaches apps within a second, and the versions before stay', async () => {
  const app = await tenant()
  const { app_id } = app
  const keys = { 'x-service-company-key': app.company_key, 'x-service-app-key': app.app_key }
  const read = (headers = {}) => fetch(`${standalone.url}/skan/cv-schema`, { headers: { ...keys, ...headers } })
  expect(await (await read()).json()).toEqual({ app_id, version: null, schema: null })

  const game = join(import.meta.dirname, '../../../examples/cv-schema/puzzle-game.json')
  const { changes } = await answerOf(`cv-schema diff --app ${app_id} ${game}`)
  expect(changes.length).toBeGreaterThan(50)
  expect(await answerOf(`cv-schema publish --app ${app_id} ${game}`)).toEqual({ app_id, version: 1 })
  await soon(async () => ((await (await read()).json()) as { version: number }).version).toBe(1)
  const shown = await answerOf(`cv-schema show --app ${app_id}`)
  const live = await read()
  expect(await live.json()).toEqual(shown)
  const again = await read({ 'if-none-match': String(live.headers.get('etag')) })
  expect([again.status, await again.text(), again.headers.get('cache-control')]).toEqual([304, '', 'max-age=86400'])

  expect(await answerOf(`cv-schema diff --app ${app_id} ${game}`)).toEqual({ changes: [] })
  expect(await answerOf(`cv-schema publish --app ${app_id} ${game}`)).toEqual({ app_id, version: 2 })
  expect(await answerOf(`cv-schema show --app ${app_id} --version 1`)).toEqual(shown)
})

test('a store id that another company has is refused, and an operator moves it', async () => {
  const [first, second] = [await tenant(), await tenant()]
  await answerOf(`app set ${first.app_id} --store-id 6471`)
  const taken = await tributary(['app', 'set', second.app_id, '--store-id', '6471', '--json'], env)
  expect(taken).toMatchObject({ code: 1, stdout: '' })
  expect(JSON.parse(taken.stderr)).toMatchObject({ error: 'store_id_taken' })
  const moved = await answerOf(`app move-store-id 6471 --to ${second.app_id}`)
  expect(moved).toMatchObject({ app_id: second.app_id, store_id: '6471', development_keys: false })
  expect(await answerOf(`app list --company ${first.company_id}`)).toMatchObject({ apps: [{ store_id: null }] })
  const on = await answerOf(`app set ${second.app_id} --development-keys on`)
  expect(on).toEqual({ ...moved, development_keys: true })
})

test('links are made where the service answers, listed, disabled and enabled; a refusal ends with 1', async () => {
  const { app_id } = await tenant()
  const create = ['link', 'create', '--app', app_id, '--partner']
  const refused = async (...words: string[]) => {
    const run = await tributary([...words, '--json'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    return JSON.parse(run.stderr)
  }
  const noPage = await refused(...create, 'acme')
  expect(noPage).toMatchObject({ error: 'invalid_field', message: expect.stringContaining('store_id') })
  await answerOf(`app set ${app_id} --store-id 123 --click-window-hours 24 --probabilistic on --reinstall-days 30`)
  const made = await answerOf(
    `link create --app ${app_id} --partner Acme --campaign summer --countries de,FR --lookback-hours 48`,
  )
  expect(made).toEqual({ link_id: expect.any(String), url: `${standalone.url}/l/${made.link_id}` })
  for (const words of [
    ['organic'],
    ['acme', '--lookback-hours', 'day'],
    ['acme', '--deep-link', 'javascript:alert(1)'],
  ]) {
    expect(await refused(...create, ...words)).toMatchObject({ error: 'invalid_field' })
  }
  expect(await refused('app', 'set', app_id, '--store-id', '')).toMatchObject({ error: 'invalid_field' })
  expect(await answerOf(`link disable ${made.link_id}`)).toEqual({ link_id: made.link_id, status: 'disabled' })
  expect((await answerOf(`link list --app ${app_id}`)).links).toMatchObject([
    {
      ...{ ...made, partner: 'acme', campaign: 'summer', countries: ['DE', 'FR'], lookback_hours: 48 },
      status: 'disabled',
    },
  ])
  expect(await answerOf(`link enable ${made.link_id}`)).toEqual({ link_id: made.link_id, status: 'enabled' })
  expect(await answerOf(`app set ${app_id} --name Renamed`)).toMatchObject({
    ...{ click_window_hours: 24, probabilistic: true, probabilistic_window_hours: 24, reinstall_days: 30 },
  })
})

test('an import keeps the attribution of another provider, once its key may state it', async () => {
  const { app_id } = await tenant()
  const create = async (scopes: string) =>
    (await answerOf(`key create --app ${app_id} --label l --scope ${scopes}`)).key as string
  const stating = await create('events:write,reports:read,attribution:write')
  const rows = [
    'adid,activity_kind,installed_at,created_at,network_name,campaign_name,country,event_name,revenue_float,currency',
  ]
  const file = (adid: string, network: string) => [
    `${adid},install,1772366400,1772366400,${network},spring,de,,,`,
    `${adid},event,,1772370000,${network},spring,de,purchase,10,USD`,
  ]
  const plain = await create('events:write')
  for (const adid of ['own', 'stated', 'free']) {
    const path = join(data_dir, `${adid}.csv`)
    writeFileSync(path, [...rows, ...file(adid, adid === 'free' ? 'Organic' : 'Ad Net')].join('\n'))
    const of = await answerOf(`import adjust --key ${adid === 'own' ? plain : stating} ${path}`)
    expect(of).toEqual({ accepted: 2, rejected: 0, skipped: {}, seconds: expect.any(Number) })
  }
  await answerOf('status --wait')
  const report = await answerOf(`reports attribution --key ${stating} --since 2026-03-01 --until 2026-03-02`)
  const day = '2026-03-01'
  expect(report.rows).toEqual([
    { day, partner: 'ad_net', attribution_type: 'imported', installs: 1, organic: 0, reinstalls: 0, fraud_flagged: 0 },
    { day, partner: 'organic', attribution_type: 'imported', installs: 1, organic: 1, reinstalls: 0, fraud_flagged: 0 },
    { day, partner: 'organic', attribution_type: 'organic', installs: 1, organic: 1, reinstalls: 0, fraud_flagged: 0 },
  ])
  const revenue = await answerOf(`reports revenue --key ${stating} --since 2026-03-01 --until 2026-03-02`)
  expect(revenue.rows).toMatchObject([
    { partner: 'ad_net', revenue_usd: 10 },
    { partner: 'organic', revenue_usd: 20 },
  ])
  const record = await answerOf(`explain stated --key ${stating}`)
  expect(record).toMatchObject({
    verdict: { attribution_type: 'imported', partner: 'ad_net', campaign: 'spring', source: 'adjust', link_id: null },
    candidates: [],
  })
})

test('the examples of docs/reports.md answer as they stand there', async () => {
  const root = join(import.meta.dirname, '../../..')
  const { app_id } = await tenant()
  const scopes = 'events:write,reports:read,costs:write,attribution:write'
  const { key } = await answerOf(`key create --app ${app_id} --label all --scope ${scopes}`)
  await answerOf(`backfill --key ${key} --extra-fields ${root}/examples/campaigns/events.jsonl`)
  await answerOf(`cost load --key ${key} ${root}/examples/campaigns/costs.csv`)
  await answerOf('status --wait')
  const examples = readFileSync(join(root, 'docs/reports.md'), 'utf8').matchAll(
    /npx tributary (reports .*)\n```\n\n```\n([^`]*)```/g,
  )
  const words = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
  let checked = 0
  for (const [, command = '', table = ''] of examples) {
    const { stdout } = await tributary([...command.split(' '), '--key', key], env)
    expect(words(stdout)).toEqual(words(table))
    checked += 1
  }
  expect(checked).toBe(3)
})
