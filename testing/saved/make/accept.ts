import { agents, android, hour_ms, minute_ms, type Story, writeStory } from './story.ts'

/** Every answer of the doors of ingestion, reports and admin API to right and wrong requests. */
export function accept() {
  const story = writeStory('2031-03-03T10:00:00.000Z')
  const { send, admin, as } = story
  story.company('shop')
  story.company('other')
  story.app('run', 'shop')
  story.app('jump', 'shop', { platform: 'ios', bundle_id: 'com.example.jump' })
  story.app('swim', 'other')
  story.key('writer', 'run', { scopes: ['events:write'] })
  story.key('reader', 'run', { scopes: ['reports:read'] })
  story.key('picky', 'run', { allowed_events: ['purchase', 'level_up'] })
  story.key('gone', 'run')
  admin('POST /keys/{{gone.id}}/revoke')
  signedBatches(story)
  items(story)
  const event = { event_id: 's', event_name: 'level_up', install_uuid: 'u1', event_ts_ms: story.now() }
  send('POST /s2s/event', { body: event })
  send('POST /s2s/event', { body: event, headers: { authorization: 'Basic abc' } })
  send('POST /s2s/event', {
    body: event,
    headers: { authorization: 'Bearer srv_000000000000000000000000000000000000000000000000' },
  })
  for (const key of ['gone', 'reader', 'writer', 'picky', 'jump.key']) send('POST /s2s/event', { key, body: event })
  send('POST /s2s/event', { key: 'picky', body: { ...event, event_id: 's2', event_name: 'sign_up' } })
  send('POST /s2s/events/bulk', { key: 'picky', body: { events: [event, { ...event, event_name: 'sign_up' }] } })
  for (const platform of [
    { platform: 'ios' },
    { props: { platform: 'IOS' } },
    { device: { os: 'ios' } },
    { platform: 'Android' },
    { platform: 'web' },
  ])
    send('POST /s2s/event', {
      key: 'writer',
      body: { ...event, event_id: JSON.stringify(platform).replaceAll(' ', ''), ...platform },
    })
  send('POST /s2s/events/bulk', {
    key: 'writer',
    body: { events: [event, { ...event, event_id: 'b2', platform: 'ios' }] },
  })
  const faults: object[] = [
    {},
    { event_name: 'x' },
    { install_uuid: 'u', event_name: 'x' },
    { ...event, event_name: '' },
    { ...event, event_ts_ms: 1_262_303_999_999 },
    { ...event, event_ts_ms: story.now() + 24 * hour_ms + 10 * minute_ms },
    { ...event, event_id: 'two words' },
    { ...event, event_id: '{{x:129}}' },
    { ...event, event_name: 'a\nb' },
    { ...event, install_uuid: 'not/allowed' },
    { ...event, revenue: '5' },
    { ...event, revenue: 1_000_000_001 },
    { ...event, revenue: 1, currency: 'XTS' },
    { ...event, revenue: 1, currency: 'EURO' },
    { ...event, props: [1] },
    { ...event, props: { a: { b: { c: { d: { e: { f: { g: { h: 1 } } } } } } } } },
    { ...event, props: { long: '{{x:16400}}' } },
    { ...event, user_id: '{{x:257}}' },
  ]
  for (const body of faults) send('POST /s2s/event', { key: 'writer', body })
  send('POST /s2s/events/bulk', {
    key: 'writer',
    body: { events: [...faults, 7, event, { ...event, event_id: 'b3' }, { ...event, event_id: 'b3' }] },
  })
  send('POST /s2s/events/bulk', { key: 'writer', body: { events: [] } })
  send('POST /s2s/events/bulk', { key: 'writer', body: { events: Array.from({ length: 1001 }, () => 0) } })
  for (const body of [
    '',
    '[',
    '[]',
    '﻿{}',
    '{"event_name":"twice","event_name":"last","install_uuid":"u1","event_id":"t","event_ts_ms":1930000000000}',
  ])
    send('POST /s2s/event', { key: 'writer', body })
  send('POST /s2s/event', { key: 'writer', body: { ...event, event_id: 'zip' }, gzip: true })
  send('POST /s2s/event', { key: 'writer', body: 'no gzip', headers: { 'content-encoding': 'gzip' } })
  send('POST /s2s/event', { key: 'writer', body: event, headers: { 'content-encoding': 'br' } })
  send('POST /s2s/event', {
    key: 'writer',
    body: { ...event, event_id: 'plain' },
    headers: { 'content-encoding': 'identity', 'x-request-id': 'of-the-client' },
  })
  send('POST /s2s/event', { key: 'writer', body: { ...event, note: '{{x:262144}}' } })
  send('POST /s2s/event', {
    key: 'writer',
    body: { ...event, event_id: 'extra', note: { kept: [1, null, '\ud800'] }, price: null },
  })
  for (const path of ['/event', '/s2s/event', '/api/v1/reports/events', '/skan/cv-schema', '/privacy/delete'])
    send(`PUT ${path}`)
  for (const path of ['/', '/nowhere', '/api/v1/reports/nothing', '/l/nowhere12345', '/l/short']) send(`GET ${path}`)
  send('POST /event', { as: as('run'), body: { events: [], sent_at_ms: story.now() } })
  admins(story)
  story.settle()
  reports(story)
  admin('POST /companies/{{shop.company_id}}/suspend')
  send('POST /event', { as: as('run'), body: { events: [event] } })
  send('POST /s2s/event', { key: 'writer', body: event })
  send('GET /api/v1/reports/events', { key: 'reader' })
  send('GET /skan/cv-schema', { as: as('jump') })
  admin('POST /companies/{{shop.company_id}}/reinstate')
  send('POST /s2s/event', { key: 'writer', body: { ...event, event_id: 'after' } })
  story.settle()
  story.ask({
    key: 'reader',
    since_ms: Date.UTC(2031, 2, 1),
    until_ms: Date.UTC(2031, 2, 5),
    event_names: ['level_up', 'purchase'],
  })
  return story.steps
}

function signedBatches(story: Story) {
  const { send, as } = story
  const sent = (event_id: string) => ({
    sent_at_ms: story.now(),
    events: [{ event_id, event_name: 'app_open', install_uuid: 'u1' }],
  })
  send('POST /event', { body: sent('a') })
  send('POST /event', { as: as('run'), body: sent('a'), headers: { 'x-service-signature': '' } })
  send('POST /event', { as: as('run') })
  send('POST /event', { as: 'shop/swim', body: sent('a') })
  send('POST /event', { as: as('run'), body: sent('a'), headers: { 'x-service-company-key': 'co_live_0' } })
  send('POST /event', { as: as('run'), body: sent('a'), headers: { 'x-service-app-key': 'app_live_0' } })
  send('POST /event', { as: as('run'), body: sent('a'), headers: { 'x-service-signature': '0'.repeat(64) } })
  send('POST /event', { as: as('run'), body: sent('a') })
  send('POST /event', {
    as: as('run'),
    body: sent('b'),
    gzip: true,
    headers: { 'x-service-sdk': 'unity/1.2', 'x-service-platform': 'android' },
  })
  send('POST /event', { as: as('run'), body: 'not zipped', headers: { 'content-encoding': 'gzip' } })
  send('POST /event', { as: as('run'), body: sent('c'), headers: { 'content-encoding': 'deflate' } })
  for (const body of ['{', '[]', '{"events":{}}', '{"events":[{}],"sent_at_ms":"now"}', '{"events":[null,3,{}]}'])
    send('POST /event', { as: as('run'), body })
  send('POST /event', { as: as('run'), body: { events: Array.from({ length: 501 }, () => 0) } })
  send('POST /event', { as: as('run'), body: '{{x:1048577}}' })
}

/** Items of one batch, right and wrong ones beside each other. */
function items(story: Story) {
  const now = story.now()
  const event = { event_id: 'i', event_name: 'level_up', install_uuid: 'u2', event_ts_ms: now }
  story.batch('run', [
    { ...event, event_id: undefined },
    { ...event, event_id: 'ünicode' },
    { ...event, event_id: 'i1', event_ts_ms: undefined },
    { ...event, event_id: 'i2', event_name: null },
    { ...event, event_id: 'i3', install_uuid: '' },
    { ...event, event_id: 'i4', event_ts_ms: 1.5 },
    { ...event, event_id: 'i5', event_ts_ms: now + 25 * hour_ms },
    { ...event, event_id: 'i6', currency: 'xxx' },
    { ...event, event_id: 'i7', currency: 'dem', revenue: 2 },
    { ...event, event_id: 'i8', currency: 'eur', revenue: 2 },
    { ...event, event_id: 'i9', device: 'phone' },
    { ...event, event_id: 'i10', platform: 'ios' },
    { ...event, event_id: 'i11', props: { big: 1.5e300, deep: { er: [] } }, device: android },
    { ...event, event_id: 'i12', event_name: '=cmd|x', revenue: 1 },
    { ...event, event_id: 'i13', event_name: '  +1, "quoted"', revenue: 1 },
    { ...event, event_id: 'i14', event_name: '_user_alias', user_id: 'ann' },
    { ...event, event_id: 'i14', event_name: 'level_up' },
  ])
}

function admins(story: Story) {
  const { admin } = story
  story.send('GET /admin/api/v1/companies', { headers: { authorization: 'Bearer wrong' } })
  story.send('GET /admin/api/v1/nothing')
  admin('GET /companies/{{shop.company_id}}')
  admin('GET /companies/co_nobody')
  admin('GET /apps?company_id={{shop.company_id}}')
  admin('GET /keys?app_id={{run.app_id}}')
  admin('POST /companies', { name: '', plan: 'free' })
  admin('POST /companies', { name: 'x', plan: 'gold' })
  admin('POST /companies', { name: 'x', colour: 'red' })
  admin('PATCH /companies/{{other.company_id}}', { plan: 'growth' })
  admin('POST /apps', { company_id: 'co_nobody', name: 'x', platform: 'ios' })
  admin('POST /apps', { company_id: '{{shop.company_id}}', name: 'x', platform: 'web' })
  admin('PATCH /apps/{{run.app_id}}', { development_keys: true })
  admin('PATCH /apps/{{run.app_id}}', { click_window_hours: 721 })
  admin('PATCH /apps/{{run.app_id}}', { name: 'Run', reinstall_days: 30 })
  admin('POST /links', { app_id: '{{run.app_id}}', partner: 'organic' })
  admin('POST /links', { app_id: '{{run.app_id}}', partner: 'Acme', fallback_url: 'http://example.com' })
  admin('POST /links', { app_id: '{{run.app_id}}', partner: 'acme', deep_link: 'javascript:alert(1)' })
  admin('POST /links', { app_id: '{{run.app_id}}', partner: 'acme', countries: ['XX'] })
  admin('POST /links', { app_id: '{{jump.app_id}}', partner: 'acme' })
  admin('POST /fx-rates', 'Date,USD\n2031-03-03,abc\n')
  admin('POST /erasures', { app_id: 'app_nobody', install_uuid: 'u1' })
  admin('GET /erasures?app_id={{run.app_id}}&install_uuid=u1')
  admin('GET /audit-objects?key=s2s/2031-03-03/nothing.json&app_id={{run.app_id}}')
  admin('GET /cv-schemas?app_id={{jump.app_id}}')
  admin('GET /cv-schemas?app_id={{jump.app_id}}&version=3')
  admin('POST /apps/{{run.app_id}}/rotate-secret', { overlap_hours: 1 }, { 'second.signing_secret': 'signing_secret' })
  story.batch('run', [{ event_id: 'old', event_name: 'app_open', install_uuid: 'u1' }])
  story.wait(hour_ms)
  story.batch('run', [{ event_id: 'older', event_name: 'app_open', install_uuid: 'u1' }])
}

function reports(story: Story) {
  const { send } = story
  const ask = (path: string, headers = {}) => send(`GET /api/v1/reports/${path}`, { key: 'reader', headers })
  send('GET /api/v1/reports/events')
  send('GET /api/v1/reports/events', { key: 'writer' })
  send('GET /api/v1/reports/events', { key: 'gone' })
  const day = Date.UTC(2031, 2, 3)
  const window = `since_ms=${day}&until_ms=${day + 24 * hour_ms}`
  for (const query of [
    'page=2',
    'since_ms=x',
    'since_ms=5&until_ms=5',
    `since_ms=${day - 400 * 24 * hour_ms}`,
    'limit=0',
    'limit=1001',
    'offset=-1',
    'offset=1.5',
    'event_name=',
    'attribution_type=magic',
    'partner=acme',
    'group=year',
    'days=1',
    'format=xml',
  ])
    ask(`events?${query}`)
  ask('attribution?attribution_type=magic')
  ask(`attribution?partner=${'p'.repeat(65)}`)
  for (const days of ['', '366', '1,2,3,4,5,6,7,8,9,10,11', 'x', '3,1,3']) ask(`cohorts?days=${days}`)
  ask(`events?${window}&format=csv`)
  ask(`events?${window}&format=csv&limit=2&offset=1`)
  ask(`events?${window}`, { accept: 'text/csv;q=0.9, application/json;q=0.1' })
  ask(`events?${window}`, { 'accept-encoding': 'zstd;q=0, gzip;q=0.5, identity;q=0' })
  ask(`events?${window}&event_name=level_up&event_name=app_open`)
  send('GET /api/v1/installs/u1', { key: 'reader' })
  send('GET /api/v1/installs/nobody', { key: 'reader' })
  send('GET /api/v1/installs/u2', { key: 'swim.key' })
  send('GET /health', { agent: agents.bot, headers: { 'x-request-id': 'health' } })
}
