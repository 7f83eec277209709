import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { rowsStage, verdictOf } from './rows-stage.ts'

const hour_ms = 3600 * 1000
const day_ms = 24 * hour_ms
const { world, ids, analyst, read, decide, writeEvents, writeClicks } = rowsStage()

describe('clicks', () => {
  /** The engine deletes clicks that are 90 days old by its own clock. */
  const noon = Math.floor(Date.now() / day_ms) * day_ms - 12 * hour_ms
  const window = `since_ms=${noon - day_ms}&until_ms=${noon + day_ms}`
  const idAt = (at_ms: number) => {
    const hex = at_ms.toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${randomBytes(6).toString('hex')}`
  }
  const click = (at_ms: number, more = {}) => ({ click_id: idAt(at_ms), clicked_at_ms: at_ms, ...more })
  let link_id: string

  beforeAll(async () => {
    link_id = (await world.ask('POST', '/links', { app_id: ids.app_id, partner: 'adnet' })).body.link_id
    const bot = { filtered_reason: 'bot' as const, weight: 10 }
    await writeClicks([
      click(noon, { link_id, country: 'AT', os: 'ios', ext_click_id: 'p-1' }),
      click(noon + 1, { link_id }),
      click(noon + hour_ms, { link_id, ...bot }),
      click(noon + 20 * hour_ms, { link_id }),
      click(noon, { link_id: 'lnk_other' }),
      click(noon - 3 * day_ms, { link_id }),
      click(noon, { link_id, app_id: ids.other_app_id }),
    ])
  })

  test('of a link are counted by hour and by day, and listed without addresses', async () => {
    const { counts, clicks, next_cursor } = await read(`/links/${link_id}/clicks?${window}&group=hour`)
    expect(counts).toEqual([
      { since_ms: noon, clicks: 2, filtered: 0 },
      { since_ms: noon + hour_ms, clicks: 0, filtered: 10 },
      { since_ms: noon + 20 * hour_ms, clicks: 1, filtered: 0 },
    ])
    expect([clicks.length, next_cursor]).toEqual([4, null])
    expect(clicks[3]).toEqual({
      ...{ click_id: expect.any(String), clicked_at_ms: noon, filtered_reason: null },
      ...{ country: 'AT', os: 'ios', ext_click_id: 'p-1' },
    })
    expect(clicks[1]).toMatchObject({ filtered_reason: 'bot', weight: 10 })
    const days = await read(`/links/${link_id}/clicks?${window}&limit=3`)
    expect(days.counts.map((one: { clicks: number }) => one.clicks)).toEqual([2, 1])
    const rest = await read(`/links/${link_id}/clicks?${window}&limit=3&cursor=${days.next_cursor}`)
    expect([...days.clicks, ...rest.clicks]).toEqual(clicks)
  })

  test('of a link of another app are unknown', async () => {
    const { link_id: foreign } = (await world.ask('POST', '/links', { app_id: ids.other_app_id, partner: 'adnet' }))
      .body
    expect(await read(`/links/${foreign}/clicks`)).toMatchObject({ error: 'unknown_link' })
    expect(await read('/links/none/clicks')).toMatchObject({ error: 'unknown_link' })
  })

  test('that were filtered and installs that were flagged are counted by partner and reason', async () => {
    const flagged = verdictOf('adnet', { fraud_flags: ['fast_install', 'blocked_ip'] })
    await decide('a-1', noon, [flagged])
    await decide('a-2', noon, [flagged, verdictOf('adnet', { fraud_flags: ['fast_install'] })])
    await decide('a-3', noon, [flagged, verdictOf('organic')])
    expect(await read(`/fraud?${window}`)).toEqual({
      installs: [
        { partner: 'adnet', reason: 'fast_install', installs: 2 },
        { partner: 'adnet', reason: 'blocked_ip', installs: 1 },
      ],
      clicks: [{ partner: 'adnet', reason: 'bot', clicks: 10 }],
    })
  })
})

describe('an overview', () => {
  /** The clock of the world stands at the begin of June 2026. */
  const until_ms = Date.UTC(2026, 5, 1)
  const since_ms = until_ms - 14 * day_ms
  const install = (uuid: string, at: number) => decide(uuid, at, [verdictOf('adnet')])
  const money = { event_name: 'purchase', revenue_micros: '5000000', revenue_counts: 1 as const, currency: 'USD' }

  beforeAll(async () => {
    await install('o-1', since_ms)
    await install('o-2', since_ms + day_ms)
    await install('o-3', until_ms - day_ms) // its day 7 is not over
    await install('o-4', since_ms - 10 * day_ms)
    await writeEvents([
      { install_uuid: 'o-1', ts_ms: since_ms + 7 * day_ms + hour_ms },
      { install_uuid: 'o-2', ts_ms: since_ms + day_ms, ...money },
      { install_uuid: 'o-4', ts_ms: since_ms - day_ms, ...money, currency: 'SEK' },
      { app_id: ids.other_app_id, install_uuid: 'o-1', ts_ms: since_ms },
    ])
  })
  const tiles = {
    installs: { now: 3, before: 1 },
    events: { now: 2, before: 1 },
    revenue_usd: { now: 5, before: 0 },
    d7_rate: { now: 0.5, before: 0 },
    missing_rates: ['SEK'],
  }

  test('has the figures of a period and of the one before, of cohorts whose day 7 is over', async () => {
    expect(await read(`/overview?since_ms=${since_ms}&until_ms=${until_ms}`)).toEqual({
      periods: { now: { since_ms, until_ms }, before: { since_ms: since_ms - 14 * day_ms, until_ms: since_ms } },
      tiles,
      quota: { used: 0, monthly_quota: 1_000_000 },
    })
  })

  test('compares a period that is not over with as much of the one before', async () => {
    const asked = `since_ms=${since_ms}&until_ms=${until_ms + 14 * day_ms}`
    const { periods } = await read(`/overview?${asked}`)
    const before = { since_ms: since_ms - 28 * day_ms, until_ms: since_ms - 14 * day_ms }
    expect(periods).toEqual({ now: { since_ms, until_ms }, before })
  })

  test('of a person has the apps that the person reads, page by page', async () => {
    const { apps, next_app_id } = (await analyst().ask('GET', `/overview?since_ms=${since_ms}&until_ms=${until_ms}`))
      .body
    expect(apps).toEqual([{ company_id: ids.company_id, app_id: ids.app_id, name: 'Game', tiles }])
    expect(next_app_id).toBe(null)
    const { body } = await analyst().ask('GET', `/overview?after_app_id=${ids.app_id}`)
    expect(body.apps).toEqual([])
  })

  test('of a role that is limited to apps has these alone, and no quota', async () => {
    const { company_id, app_id } = ids
    const given = { company_id, name: 'Second', platform: 'android' }
    const second = (await world.ask('POST', '/apps', given)).body.app_id
    const agency = await world.signedIn('analyst', company_id, { app_ids: [second] })
    const { apps } = (await agency.ask('GET', '/overview')).body
    expect(apps.map((one: { app_id: string }) => one.app_id)).toEqual([second])
    expect((await agency.ask('GET', `/apps/${second}/overview`)).body.quota).toBe(null)
    expect(await agency.ask('GET', `/apps/${app_id}/overview`)).toMatchObject({ status: 404 })
    const privacy = await world.signedIn('privacy', company_id)
    expect(await privacy.ask('GET', '/overview')).toMatchObject({ status: 404, body: { error: 'not_found' } })
  })
})
