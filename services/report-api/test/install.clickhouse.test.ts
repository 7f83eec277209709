import { randomUUID } from 'node:crypto'
import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { Candidate, Verdict } from '@tributary/contracts/attribution/verdict'
import { InstallRecord } from '@tributary/contracts/install-record'
import type { EventRow } from '@tributary/contracts/rows'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { type InstallRow, installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reportApi } from '../src/app.ts'

const hour_ms = 3600 * 1000
const noon = Date.UTC(2026, 2, 1, 12)
const tenants = [buildTenant(), buildTenant()] as const
const app_id = tenants[0].app.app_id

let clickhouse: TestClickhouse
let app: ReturnType<typeof createHttpApp>
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  const logger = pino({ level: 'silent' })
  app = createHttpApp({ logger })
  const credentials = memoryCredentials(tenants)
  const keyValue = memoryKeyValue(Date.now)
  const fxRates = { find: async () => () => null }
  await app.register(
    reportApi({
      ...noPostbacks(),
      clickhouse,
      credentials,
      fxRates,
      keyValue,
      now: Date.now,
      registry: new Registry(),
      logger,
    }),
  )
})
afterAll(async () => {
  await app.close()
  await clickhouse.close()
})

const write = (rows: (Partial<EventRow> & { ts_ms: number })[], of = app_id) =>
  clickhouse.insertEvents(
    rows.map((row) => testEventRow({ app_id: of, ...row })),
    randomUUID(),
  )

async function ask(install_uuid: string, { key = tenants[0].server_key, method = 'GET' as 'GET' | 'POST' } = {}) {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` }
  const answer = await app.inject({ method, url: `/api/v1/installs/${install_uuid}`, headers })
  return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
}
const recordOf = async (install_uuid: string) => {
  const { status, body } = await ask(install_uuid)
  expect(status, JSON.stringify(body)).toBe(200)
  return InstallRecord.strict().parse(body)
}

const undecided = { verdict: null, rule_version: null, windows: null, candidates: [], pending: false, history: [] }

test('an install tells its users since their first event, whether an SDK or a backend sent it, however late', async () => {
  const install_uuid = randomUUID()
  const of = { install_uuid }
  await write([
    { ...of, ts_ms: noon + 2 * hour_ms, event_name: '_user_alias', user_id: 'ana' },
    { ...of, ts_ms: noon + 5 * hour_ms, user_id: 'ben', source: 's2s' },
    { ...of, ts_ms: noon + 3 * hour_ms },
  ])
  await write([
    { ...of, ts_ms: noon + 30 * hour_ms, user_id: 'ana' },
    { ...of, ts_ms: noon + hour_ms, user_id: 'ben', source: 'bulk' }, // a backfill
    { ...of, ts_ms: noon + 5 * hour_ms, user_id: "cy'\\ \u{1f600}" },
    { install_uuid: randomUUID(), ts_ms: noon, user_id: 'somebody else' },
  ])
  expect(await recordOf(install_uuid)).toEqual({
    app_id,
    install_uuid,
    installed_at_ms: null,
    ...undecided,
    receipts: [],
    identities: [
      { user_id: 'ben', since_ms: noon + hour_ms },
      { user_id: 'ana', since_ms: noon + 2 * hour_ms },
      { user_id: "cy'\\ \u{1f600}", since_ms: noon + 5 * hour_ms },
    ],
  })
})

test('of an install with very many users the answer has the first 1000 and says that there are more', async () => {
  const install_uuid = randomUUID()
  const users = (from: number, count: number) =>
    write(
      Array.from({ length: count }, (_, n) => ({ install_uuid, ts_ms: noon - (from + n), user_id: `u${from + n}` })),
    )
  await users(0, 1000)
  expect(await recordOf(install_uuid)).not.toHaveProperty('identities_cut')
  await users(1000, 2)
  const record = await recordOf(install_uuid)
  expect(record).toMatchObject({ identities_cut: true })
  const expected = Array.from({ length: 1000 }, (_, n) => ({ user_id: `u${1001 - n}`, since_ms: noon - (1001 - n) }))
  expect(record.identities).toEqual(expected)
})

test('installed is when the first app_install to arrive took place, until then the first app_first_open', async () => {
  const install_uuid = randomUUID()
  const at = async (row: Partial<EventRow> & { ts_ms: number }) => {
    await write([{ install_uuid, event_name: 'app_first_open', ...row }])
    return (await recordOf(install_uuid)).installed_at_ms
  }
  expect(await at({ ts_ms: noon, event_name: 'level_up' })).toBeNull()
  expect(await at({ ts_ms: noon, event_name: 'app_install', props: '{"identity_migration":true}' })).toBeNull()
  expect(await at({ ts_ms: noon + 9, received_at_ms: noon + 100, offset: 1 })).toBe(noon + 9)
  expect(await at({ ts_ms: noon - 48 * hour_ms, received_at_ms: noon + 200, offset: 2 })).toBe(noon + 9)
  // The clock of this one was an hour fast.
  const received_at_ms = noon + 50 * hour_ms
  const install = { event_name: 'app_install', received_at_ms, correction_ms: -hour_ms, offset: 3 }
  expect(await at({ ts_ms: received_at_ms, ...install })).toBe(received_at_ms - hour_ms)
})

test('of two first opens the one that came first on the log is the install, whatever the clocks of gateways said', async () => {
  const install_uuid = randomUUID()
  const open = { install_uuid, event_name: 'app_first_open', topic: 'events.accepted.v1@b' }
  await write([
    { ...open, ts_ms: noon + 1, received_at_ms: noon + 9000, offset: 7 },
    { ...open, ts_ms: noon + 2, received_at_ms: noon + 100, offset: 8 },
  ])
  expect((await recordOf(install_uuid)).installed_at_ms).toBe(noon + 1)
  // A log that was begun earlier holds earlier records.
  const older = { topic: 'events.accepted.v1@a', received_at_ms: noon + 10_000, offset: 900 }
  await write([{ ...open, ts_ms: noon + 3, ...older }])
  expect((await recordOf(install_uuid)).installed_at_ms).toBe(noon + 3)
})

const windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }
const candidate = (more: Partial<Candidate>): Candidate => ({
  ...{ click_id: 'c-1', partner: 'adnet', method: 'install_referrer', clicked_at_ms: noon - 60_000 },
  ...{ outcome: 'won', reason: null },
  ...more,
})
const verdictOf = (partner: string, more: Partial<Verdict> = {}): Verdict => ({
  ...{ partner, attribution_type: 'install_referrer', campaign: 'spring', link_id: 'lnk_1', click_id: 'c-1' },
  ...{ ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ reinstall: false, fraud_flags: [] },
  ...more,
})
const place = { topic: 'events.accepted.v1@a', partition: 0, offset: 7, index: 0 }

/** What install-writer writes of an install whose verdicts followed each other; null: it waited for a click. */
async function decide(install_uuid: string, verdicts: readonly (Verdict | null)[], more: Partial<Decision> = {}) {
  const log = { topic: 'installs.attributed.v1@a', partition: 0 }
  const decisions = verdicts.map(
    (verdict, n): Decision => ({
      ...{ v: 1, company_id: 'co_1', app_id, install_uuid, installed_at_ms: noon, received_at_ms: noon, place },
      ...{ pending: verdict === null, verdict, clicked_at_ms: null, rule_version: 1, windows },
      ...{ candidates: [candidate({})], clicks: [], ...more },
      ...{ decided_at_ms: noon + n, decided_at: { log: 'installs.found.v1@a', offset: n, try: 1 } },
    }),
  )
  const rows = decisions.flatMap((decision, offset): InstallRow[] => {
    const before = decisions[offset - 1]
    const cancel = before === undefined ? [] : [{ decision: before, sign: -1 as const, place: { ...log, offset } }]
    return [...cancel, { decision, sign: 1, place: { ...log, offset } }]
  })
  const lines = rows.map(installLine).join('\n')
  await clickhouse.insert({ table: 'installs_v1', columns: installColumns, lines, token: randomUUID() })
}

test('a decided install tells its verdict, the clicks that lost and why, the windows and the rules', async () => {
  const install_uuid = randomUUID()
  await write([{ install_uuid, event_name: 'app_install', ts_ms: noon + 5 }])
  const verdict = verdictOf('adnet', { ext_click_id: 'x', sub1: 'banner', fraud_flags: ['fast_install'] })
  const lost = candidate({ click_id: 'c-2', partner: null, outcome: 'lost', reason: 'unknown_click' })
  await decide(install_uuid, [verdict], { candidates: [candidate({}), lost] })
  expect(await recordOf(install_uuid)).toEqual({
    ...{ app_id, install_uuid, installed_at_ms: noon, rule_version: 1, windows },
    verdict: { ...verdict, deep_link: null },
    ...{ candidates: [candidate({}), lost], pending: false, history: [], identities: [], receipts: [] },
  })
})

test('the deep link of the winning click is told, where its link has one', async () => {
  const click: KeptClick = {
    ...{ v: 1, click_id: 'c-1', company_id: 'co_1', app_id, link_id: 'lnk_1', partner: 'adnet', campaign: 'spring' },
    ...{ ad_group: null, creative: null, ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null },
    ...{ sub5: null, deep_link: 'mygame://gift', lookback_hours: null, clicked_at_ms: noon, filtered_reason: null },
    ...{
      ip: '192.0.2.1',
      country: null,
      user_agent: '',
      os: null,
      os_major: null,
      model: null,
      device_hashes: [],
      place,
    },
  }
  for (const [won, deep_link] of [
    ['c-1', 'mygame://gift'],
    ['c-2', null],
  ] as const) {
    const install_uuid = randomUUID()
    await decide(install_uuid, [verdictOf('adnet', { click_id: won })], { clicks: [click] })
    expect((await recordOf(install_uuid)).verdict?.deep_link).toBe(deep_link)
  }
})

test('the history tells earlier verdicts with their time, without equal neighbours and times of waiting', async () => {
  const [a, b] = [verdictOf('adnet'), verdictOf('bignet', { fraud_flags: ['click_flooding'] })] as const
  const cases: [written: (Verdict | null)[], current: Verdict | null, history: InstallRecord['history']][] = [
    [[null, a], a, []],
    [[a, a, a], a, []],
    [[a, null, a], a, []],
    [[a, b], b, [{ ...a, decided_at_ms: noon }]],
    [
      [null, a, a, b, null, b, a],
      a,
      [
        { ...a, decided_at_ms: noon + 1 },
        { ...b, decided_at_ms: noon + 3 },
      ],
    ],
    [[a, null], null, [{ ...a, decided_at_ms: noon }]],
    [[null], null, []],
  ]
  for (const [written, current, history] of cases) {
    const install_uuid = randomUUID()
    await decide(install_uuid, written)
    const record = await recordOf(install_uuid)
    expect(record).toMatchObject({ verdict: current, history, pending: current === null, rule_version: 1, windows })
  }
})

test('an install whose event no table has is known by its verdict', async () => {
  const install_uuid = randomUUID()
  await decide(install_uuid, [verdictOf('organic')])
  expect((await recordOf(install_uuid)).installed_at_ms).toBe(noon)
  expect((await ask(install_uuid, { key: tenants[1].server_key })).status).toBe(404)
})

test('an install of another app, one that nobody has seen and one that no install can be called are unknown', async () => {
  const install_uuid = randomUUID()
  await write([{ install_uuid, ts_ms: noon, user_id: 'u' }], tenants[1].app.app_id)
  const unknown = [install_uuid, randomUUID(), 'a'.repeat(65), '%00', "x'--", 'a%20b', '%F0%9F%98%80']
  for (const name of unknown) {
    expect(await ask(name), name).toMatchObject({ status: 404, body: { error: 'unknown_install' } })
  }
  expect((await ask(install_uuid, { key: tenants[1].server_key })).status).toBe(200)
})

test('answers are refused as those of reports are', async () => {
  expect(await ask('i', { key: '' })).toMatchObject({ status: 401, body: { error: 'missing_bearer_token' } })
  expect(await ask('i', { key: `srv_${'0'.repeat(48)}` })).toMatchObject({
    status: 401,
    body: { error: 'invalid_or_revoked_key' },
  })
  const wrong = await ask('i', { method: 'POST', key: '' })
  expect(wrong).toMatchObject({ status: 405, body: { error: 'method_not_allowed' }, headers: { allow: 'GET, HEAD' } })
  expect((await ask('i')).headers).toHaveProperty('ratelimit-limit')
})
