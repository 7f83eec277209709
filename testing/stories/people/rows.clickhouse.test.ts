import { beforeAll, describe, expect, test } from 'vitest'
import { rowsStage, verdictOf } from './rows-stage.ts'

const noon = Date.UTC(2026, 4, 20, 12)
const hour_ms = 3600 * 1000
/** The engine deletes clicks that are 90 days old by its own clock. */
const clicked_at_ms = Date.now()
const { world, ids, analyst, read, decide, writeEvents, writeClicks } = rowsStage()

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
    await decide('i-6', noon + 2, [verdictOf('adnet')], ids.other_app_id)
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
  const find = (q: string) => read(`/find?q=${encodeURIComponent(q)}`)
  const position = (offset: number) => ({ topic: 'events.accepted.v1@a', partition: 0, offset })
  const purchase = {
    ...{ event_name: 'purchase', revenue_micros: '9990000', currency: 'USD' },
    ...{ transaction_id: 't-1', transaction_key: '77', audit_key: 's2s/2026-05-20/a.json' },
  }
  const click_id = '019e4000-0000-7000-8000-0000000000a1'
  const hostile = "o'brien\\ \u{1f600} ') OR 1=1 --"

  beforeAll(async () => {
    await writeEvents([
      { install_uuid: 'f-1', ts_ms: noon - 400 * 24 * hour_ms, event_id: 'old-1', ...position(1) },
      { install_uuid: 'f-1', ts_ms: noon, event_id: 'sdk-1', ...purchase, revenue_counts: 0, ...position(3) },
      {
        ...{ install_uuid: 'f-2', ts_ms: noon + 1, event_id: 'server-1', source: 's2s', ...purchase },
        ...{ revenue_counts: 1, user_id: hostile, ...position(2) },
      },
      { app_id: ids.other_app_id, install_uuid: 'f-1', ts_ms: noon, event_id: 'server-1', ...position(9) },
    ])
    await writeClicks([{ click_id, clicked_at_ms }])
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
    expect(await analyst().ask('GET', `/apps/${ids.app_id}/find?${new URLSearchParams({ q })}`)).toMatchObject({
      ...{ status: 200, body: { found: [] } },
    })
  })

  test('is looked up in the app of the path alone', async () => {
    const stranger = await world.signedIn('privacy', (await world.newApp()).company_id)
    expect(await stranger.ask('GET', `/apps/${ids.app_id}/find?q=f-1`)).toMatchObject({ status: 404 })
  })

  test('that was looked up is an entry of the audit log, without the id', async () => {
    await find('server-1')
    const entry = (await world.auditOf(ids.app_id)).at(-1)
    expect(entry).toMatchObject({ action: 'rows.find', detail: { found: ['event'] } })
    expect(JSON.stringify(entry)).not.toContain('server-1')
  })
})
