import { randomUUID } from 'node:crypto'
import { type Browser, peopleWorld } from '@tributary/admin-api/test/people-world'
import { reportsBeside } from '@tributary/admin-api/test/reports-beside'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { type InstallRow, installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const noon = Date.UTC(2026, 4, 20, 12)
const hour_ms = 3600 * 1000
/** The engine deletes clicks that are 90 days old by its own clock. */
const clicked_at_ms = Date.now()
let clickhouse: TestClickhouse
const world = peopleWorld({}, (deps) => reportsBeside(deps, { query: (...given) => clickhouse.query(...given) }))
let company_id: string
let app_id: string
let other_app_id: string
let analyst: Browser

beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  const [own, other] = [await world.newApp(), await world.newApp()]
  ;({ company_id, app_id } = own)
  other_app_id = other.app_id
  analyst = await world.signedIn('analyst', company_id)
})
afterAll(() => clickhouse.close())

const read = async (path: string, of = app_id) => (await analyst.ask('GET', `/apps/${of}${path}`)).body

const verdictOf = (partner: string, more: Partial<Verdict> = {}): Verdict => ({
  ...{ partner, attribution_type: 'install_referrer', campaign: 'spring', link_id: 'lnk_1', click_id: 'c-1' },
  ...{ ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ reinstall: false, fraud_flags: [] },
  ...more,
})

let log_offset = 0
/** What install-writer writes of an install whose verdicts followed each other; null: it waited for a click. */
async function decide(install_uuid: string, installed_at_ms: number, verdicts: (Verdict | null)[], of = app_id) {
  const log = { topic: 'installs.attributed.v1@a', partition: 0 }
  const place = { topic: 'events.accepted.v1@a', partition: 0, offset: 7, index: 0 }
  const decisions = verdicts.map(
    (verdict, n): Decision => ({
      ...{ v: 1, company_id, app_id: of, install_uuid, installed_at_ms, received_at_ms: installed_at_ms, place },
      ...{ pending: verdict === null, verdict, clicked_at_ms: null, rule_version: 1, candidates: [], clicks: [] },
      windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
      ...{ decided_at_ms: installed_at_ms + n, decided_at: { log: 'installs.found.v1@a', offset: n, try: 1 } },
    }),
  )
  const rows = decisions.flatMap((decision, n): InstallRow[] => {
    const before = decisions[n - 1]
    // A record that begins a verdict cancels the one before.
    const at = { ...log, offset: log_offset + n }
    const cancel: InstallRow[] = before === undefined ? [] : [{ decision: before, sign: -1, place: at }]
    return [...cancel, { decision, sign: 1, place: at }]
  })
  log_offset += decisions.length
  const lines = rows.map(installLine).join('\n')
  await clickhouse.insert({ table: 'installs_v1', columns: installColumns, lines, token: randomUUID() })
}

describe('installs of an app', () => {
  const window = `since_ms=${noon - 24 * hour_ms}&until_ms=${noon + 24 * hour_ms}`
  const idsOf = (body: { installs: { install_uuid: string }[] }) => body.installs.map((one) => one.install_uuid)

  beforeAll(async () => {
    await decide('i-1', noon, [verdictOf('adnet')])
    await decide('i-2', noon + 1, [
      verdictOf('adnet'),
      verdictOf('bignet', { campaign: null, fraud_flags: ['fast_install'] }),
    ])
    await decide('i-3', noon + 5 * hour_ms, [
      verdictOf('organic', { attribution_type: 'organic', link_id: null, click_id: null }),
    ])
    await decide('i-4', noon + 5 * hour_ms, [verdictOf('adnet', { reinstall: true })])
    await decide('i-5', noon + 2, [null])
    await decide('i-6', noon + 2, [verdictOf('adnet')], other_app_id)
    await decide('i-7', noon + 48 * hour_ms, [verdictOf('adnet')])
  })

  test('come with their newest verdict, the newest first, and only those of the app and the window', async () => {
    const { installs, next_cursor } = await read(`/installs?${window}`)
    expect([idsOf({ installs }), next_cursor]).toEqual([['i-4', 'i-3', 'i-2', 'i-1'], null])
    expect(installs[2]).toEqual({
      ...{ install_uuid: 'i-2', installed_at_ms: noon + 1, partner: 'bignet', attribution_type: 'install_referrer' },
      ...{ campaign: null, link_id: 'lnk_1', click_id: 'c-1', reinstall: false, fraud_flags: ['fast_install'] },
    })
  })

  test.each([
    ['partner=ADNET', ['i-4', 'i-1']],
    ['campaign=spring', ['i-4', 'i-3', 'i-1']],
    ['attribution_type=organic', ['i-3']],
    ['flagged=true', ['i-2']],
    ['flagged=false&reinstall=false', ['i-3', 'i-1']],
    ["partner='; DROP TABLE installs_v1; --", []],
  ])('are filtered by %s', async (filter, ids) => {
    expect(idsOf(await read(`/installs?${window}&${filter.replaceAll(' ', '%20')}`))).toEqual(ids)
  })

  test('fit together page by page', async () => {
    const ids: string[] = []
    for (let cursor = ''; ids.length < 10; ) {
      const page = await read(`/installs?${window}&limit=1${cursor}`)
      ids.push(...idsOf(page))
      if (page.next_cursor === null) break
      cursor = `&cursor=${page.next_cursor}`
    }
    expect(ids).toEqual(['i-4', 'i-3', 'i-2', 'i-1'])
  })

  test.each([
    ['cursor=x', 'cursor'],
    ['since_ms=2&until_ms=1', 'since_ms'],
    ['since_ms=1', 'since_ms'],
    ['limit=1001', 'limit'],
    ['attribution_type=magic', 'attribution_type'],
  ])('are refused for %s', async (query, field) => {
    expect(await read(`/installs?${query}`)).toMatchObject({ error: 'invalid_field', field })
  })
})

describe('an id', () => {
  const find = async (q: string, of = app_id) => read(`/find?q=${encodeURIComponent(q)}`, of)
  const position = (offset: number) => ({ topic: 'events.accepted.v1@a', partition: 0, offset })
  const purchase = {
    ...{ event_name: 'purchase', revenue_micros: '9990000', currency: 'USD' },
    ...{ transaction_id: 't-1', transaction_key: '77', audit_key: 's2s/2026-05-20/a.json' },
  }
  const click_id = '019e4000-0000-7000-8000-0000000000a1'
  const hostile = "o'brien\\ \u{1f600} ') OR 1=1 --"

  beforeAll(async () => {
    await clickhouse.insertEvents(
      [
        testEventRow({
          app_id,
          install_uuid: 'f-1',
          ts_ms: noon - 400 * 24 * hour_ms,
          event_id: 'old-1',
          ...position(1),
        }),
        testEventRow({
          app_id,
          install_uuid: 'f-1',
          ts_ms: noon,
          event_id: 'sdk-1',
          ...purchase,
          revenue_counts: 0,
          ...position(3),
        }),
        testEventRow({
          ...{ app_id, install_uuid: 'f-2', ts_ms: noon + 1, event_id: 'server-1', source: 's2s', ...purchase },
          ...{ revenue_counts: 1, user_id: hostile, ...position(2) },
        }),
        testEventRow({ app_id: other_app_id, install_uuid: 'f-1', ts_ms: noon, event_id: 'server-1', ...position(9) }),
      ],
      randomUUID(),
    )
    const click = {
      ...{ v: 1 as const, click_id, company_id, app_id, link_id: 'lnk_1', partner: 'adnet', campaign: 'spring' },
      ...{ ad_group: null, creative: null, ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null },
      ...{ sub5: null, deep_link: null, lookback_hours: null, clicked_at_ms, filtered_reason: null },
      ...{ ip: '192.0.2.1', country: null, user_agent: '', os: null, os_major: null, model: null, device_hashes: [] },
    }
    const lines = clickLine(click, { topic: 'clicks.recorded.v1@a', partition: 0, offset: 1, index: 0 })
    await clickhouse.insert({ table: 'clicks_raw_v1', columns: clickColumns, lines, token: randomUUID() })
    await decide('f-3', noon, [verdictOf('adnet', { click_id })])
  })

  test('of an event tells by which door it came, where its request is kept, and that its money counts', async () => {
    expect(await find('server-1')).toEqual({
      found: [
        {
          ...{ kind: 'event', install_uuid: 'f-2', event_id: 'server-1', event_name: 'purchase', source: 's2s' },
          ...{
            event_ts_ms: noon + 1,
            received_at_ms: noon + 1,
            audit_key: 's2s/2026-05-20/a.json',
            position: position(2),
          },
          money: { amount: 9.99, currency: 'USD', transaction_id: 't-1', counts: true, beaten_by: null },
        },
      ],
      events_since: null,
    })
  })

  test('of an event whose money another one has leads to that one', async () => {
    const { found } = await find('sdk-1')
    const beaten_by = { install_uuid: 'f-2', event_id: 'server-1', source: 's2s', received_at_ms: noon + 1 }
    expect(found).toMatchObject([{ kind: 'event', install_uuid: 'f-1', money: { counts: false, beaten_by } }])
  })

  test('of a transaction leads to its events', async () => {
    const { found } = await find('t-1')
    expect(found.map((one: Record<string, string>) => [one.kind, one.event_id])).toEqual([
      ['transaction', 'server-1'],
      ['transaction', 'sdk-1'],
    ])
  })

  test('of an old event is found, and one without money has none', async () => {
    expect((await find('old-1')).found).toMatchObject([{ event_id: 'old-1', money: null }])
  })

  test('of an install, a user and a click leads to installs', async () => {
    expect((await find('f-1')).found).toEqual([{ kind: 'install', install_uuid: 'f-1' }])
    expect((await find(hostile)).found).toEqual([
      { kind: 'user', user_id: hostile, installs: [{ install_uuid: 'f-2', since_ms: noon + 1 }] },
    ])
    expect((await find(click_id)).found).toEqual([
      {
        ...{ kind: 'click', click_id, link_id: 'lnk_1', partner: 'adnet', campaign: 'spring', clicked_at_ms },
        ...{ filtered_reason: null, install_uuids: ['f-3'] },
      },
    ])
  })

  test.each([
    "' OR 1=1 --",
    '\\',
    '%',
    '{app_id:String}',
    '*',
    '../f-1',
    'F-1',
    'f-1 ',
    '\u{1f600}',
    '\ud800',
    'x'.repeat(256),
  ])('that nobody has finds nothing: %s', async (q) => {
    expect(await analyst.ask('GET', `/apps/${app_id}/find?${new URLSearchParams({ q })}`)).toMatchObject({
      ...{ status: 200, body: { found: [] } },
    })
  })

  test('is looked up in the app of the path alone', async () => {
    const stranger = await world.signedIn('privacy', (await world.newApp()).company_id)
    expect(await stranger.ask('GET', `/apps/${app_id}/find?q=f-1`)).toMatchObject({ status: 404 })
  })

  test('that was looked up is an entry of the audit log, without the id', async () => {
    await find('server-1')
    const entry = (await world.auditOf(app_id)).at(-1)
    expect(entry).toMatchObject({ action: 'rows.find', detail: { found: ['event'] } })
    expect(JSON.stringify(entry)).not.toContain('server-1')
  })
})
