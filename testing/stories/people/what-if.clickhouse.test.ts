import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { attribute } from '@tributary/domain/attribute/attribute'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { beforeAll, expect, test } from 'vitest'
import { rowsStage } from './rows-stage.ts'

const hour_ms = 3600 * 1000
/** The engine deletes clicks that are 90 days old by its own clock. */
const at_ms = Date.now() - 100 * hour_ms
const { world, ids, analyst, insert } = rowsStage()
const windows: Windows = { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 }

const clickOf = (app_id: string, n: number, given: Partial<KeptClick>): KeptClick => ({
  ...{ v: 1, click_id: `01970000-0000-7000-8000-00000000000${n}`, company_id: ids.company_id, app_id },
  ...{ link_id: 'lnk_1', partner: 'adnet', campaign: 'spring', ad_group: null, creative: null, ext_click_id: null },
  ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, deep_link: null, lookback_hours: null },
  ...{ filtered_reason: null, ip: '192.0.2.1', country: null, user_agent: '', os: 'android', os_major: 15 },
  ...{ model: null, device_hashes: [], clicked_at_ms: at_ms },
  place: { topic: 'clicks.recorded.v1@a', partition: 0, offset: n, index: 0 },
  ...given,
})
const installOf = (app_id: string, n: number, given: Partial<InstallFact>): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: ids.company_id, app_id, install_uuid: `i-${n}` },
  ...{ installed_at_ms: at_ms + n, received_at_ms: at_ms + n, event_name: 'app_install', is_sdk: true },
  ...{ platform: 'android', ip: null, os_major: null, model: null, device_hashes: [], user_id: null },
  ...{ referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
  place: { topic: 'events.accepted.v1@a', partition: 0, offset: n, index: 0 },
  ...given,
})

/** Three installs by two clicks, one of them a day and a half old, and what is decided about them. */
async function writeHistory(app_id: string, first: number) {
  const clicks = [
    clickOf(app_id, first, { device_hashes: ['d'], clicked_at_ms: at_ms - 36 * hour_ms }),
    clickOf(app_id, first + 1, { ip: '192.0.2.7', partner: 'bignet', clicked_at_ms: at_ms - hour_ms }),
  ]
  const installs = [
    installOf(app_id, first, { device_hashes: ['d'] }),
    installOf(app_id, first + 1, { ip: '192.0.2.7', os_major: 15 }),
    installOf(app_id, first + 2, { device_hashes: ['d'] }),
  ]
  const taken = new Map<string, InstallFact>()
  const decisions = installs.map((install, n): Decision => {
    const others = installs.slice(0, n).map((one) => ({ ...one, aliases: [] }))
    const decided = attribute({
      ...{ install, clicks, claims: taken, others, windows, crowds: new Map(), newest: null, now_ms: at_ms },
      ...{ isErasedClick: () => false, isFlooded: () => false, datacenter: false, blocked: false },
      ...{ neighbours_before: 0, clicks_deleted_before_ms: 0 },
    })
    if (decided.verdict?.click_id) taken.set(decided.verdict.click_id, install)
    return { ...decided, decided_at_ms: at_ms, decided_at: { log: 'installs.found.v1@a', offset: n, try: 1 } }
  })
  await insert(
    'clicks_raw_v1',
    clickColumns,
    clicks.map((click) => clickLine(click, click.place)),
  )
  await insert('install_facts_v1', factColumns, installs.map(factLine))
  const place = { topic: 'installs.attributed.v1@a', partition: 0 }
  await insert(
    'installs_v1',
    installColumns,
    decisions.map((decision, n) => installLine({ decision, sign: 1, place: { ...place, offset: first + n } })),
  )
}

const window = `since_ms=${at_ms}&until_ms=${at_ms + hour_ms}`
async function ask(query: string, app_id = ids.app_id) {
  const { status, text } = await analyst().ask('GET', `/apps/${app_id}/what-if?${query}`)
  return { status, lines: text.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line))) }
}
const answer = async (query: string) => (await ask(query)).lines.at(-1)

beforeAll(async () => {
  await writeHistory(ids.app_id, 1)
  // The same devices, addresses and times.
  await writeHistory(ids.other_app_id, 4)
})

test('an analyst learns what a shorter window changes, line by line, and why', async () => {
  const { status, lines } = await ask(`${window}&click_window_hours=24`)
  expect(status).toBe(200)
  const [begin, decided, end] = lines
  expect([begin, decided]).toEqual([
    { kind: 'progress', decided: 0, installs: 3 },
    { kind: 'progress', decided: 3, installs: 3 },
  ])
  expect(end).toMatchObject({
    ...{ kind: 'what_if', installs: 3, changed: 1 },
    partners: [
      { partner: 'adnet', before: 1, after: 0, reinstalls_before: 0, reinstalls_after: 0 },
      { partner: 'bignet', before: 1, after: 1, reinstalls_before: 0, reinstalls_after: 0 },
      { partner: 'organic', before: 1, after: 2, reinstalls_before: 1, reinstalls_after: 1 },
    ].toSorted((a, b) => b.before - a.before || b.after - a.after || (a.partner < b.partner ? -1 : 1)),
    moves: [
      {
        ...{ from: 'adnet', to: 'organic', installs: 1 },
        example: {
          install_uuid: 'i-1',
          before: { partner: 'adnet', attribution_type: 'device_id', campaign: 'spring', reason: null },
          after: { partner: 'organic', attribution_type: 'organic', click_id: null, reason: 'outside_window' },
        },
      },
    ],
  })
})

test('each setting changes what it rules, and those that hold change nothing', async () => {
  expect(await answer(window)).toMatchObject({ installs: 3, changed: 0, moves: [] })
  expect(await answer(`${window}&click_window_hours=168&reinstall_days=90`)).toMatchObject({ changed: 0 })
  const [move] = (await answer(`${window}&probabilistic=false`)).moves
  expect(move).toMatchObject({ from: 'bignet', to: 'organic', installs: 1, example: { install_uuid: 'i-2' } })
  expect(await answer(`since_ms=${at_ms + 2}&until_ms=${at_ms + 3}&probabilistic=false`)).toMatchObject({
    ...{ installs: 1, changed: 1 },
  })
})

test('a window that reaches beyond the stored clicks is refused with the first day that works', async () => {
  const first_ms = Date.UTC(2026, 3, 3)
  const until = `until_ms=${first_ms + hour_ms}`
  expect((await ask(`since_ms=${first_ms}&${until}`)).status).toBe(200)
  const { status, lines } = await ask(`since_ms=${first_ms - 1}&${until}`)
  expect([status, lines[0]]).toMatchObject([400, { error: 'clicks_expired', field: 'since_ms' }])
  expect(lines[0].message).toContain('2026-04-03')
  // Retention has deleted more.
  const deleted = `UPDATE companies SET clicks_deleted_before = '2026-05-01T00:00:00Z' WHERE company_id = $1`
  await world.pool().query(deleted, [ids.company_id])
  const { lines: later } = await ask(`since_ms=${first_ms}&${until}`)
  expect(later[0].message).toContain('2026-05-31')
  await world.pool().query(`UPDATE companies SET clicks_deleted_before = NULL WHERE company_id = $1`, [ids.company_id])
})

test.each([
  ['click_window_hours=0', 'click_window_hours'],
  ['click_window_hours=721', 'click_window_hours'],
  ['click_window_hours=', 'click_window_hours'],
  ['reinstall_days=1.5', 'reinstall_days'],
  ['probabilistic=true', 'probabilistic'],
  ['windows=1', 'windows'],
  ['since_ms=2&until_ms=1', 'since_ms'],
])('%s is refused', async (query, field) => {
  const { lines } = await ask(query)
  expect(lines[0]).toMatchObject({ error: 'invalid_field', field })
})

test('nobody asks about an app of another company, or without a role that reads it', async () => {
  expect((await ask(window, ids.other_app_id)).lines[0]).toMatchObject({ error: 'unknown_app' })
  const privacy = await world.signedIn('privacy', ids.company_id)
  const { body } = await privacy.ask('GET', `/apps/${ids.app_id}/what-if?${window}`)
  expect(body).toMatchObject({ error: 'unknown_app' })
})
