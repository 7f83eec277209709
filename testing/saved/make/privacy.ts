import { android, day_ms, hour_ms, minute_ms, writeStory } from './story.ts'

/** Erasures with everything that hangs on an install: neighbours, clicks, claims, second lives, replays, certificates. */
export function erasure() {
  const story = writeStory('2031-05-12T10:00:00.000Z')
  const { send, admin, as } = story
  story.company('shop')
  story.app('run', 'shop')
  story.app('walk', 'shop')
  story.link('acme', 'run')
  story.link('zeta', 'run', { partner: 'zeta' })
  story.click('acme', { keep_click: 'c1', ip: '198.18.1.1', query: '?gaid=dddddddd-0000-4000-8000-000000000001' })
  story.click('zeta', { keep_click: 'c2', ip: '198.18.1.1' })
  story.click('acme', { keep_click: 'c3', ip: '198.18.2.1' })
  story.settle()
  story.wait(hour_ms)
  const device = { ...android, gaid: 'dddddddd-0000-4000-8000-000000000001' }
  const referrer = (click: string) => ({ props: { install_referrer: `tb_click={{${click}}}` } })
  story.install('run', 'ann', { ...referrer('c1'), device, given: { ip: '198.18.1.1' }, user_id: 'u_ann' })
  story.settle()
  story.wait(hour_ms)
  story.install('run', 'bob', { ...referrer('c1'), given: { ip: '198.18.2.9' }, user_id: 'u_ann' })
  story.install('run', 'cid', { device, given: { ip: '198.18.3.1' } })
  story.install('run', 'dan', { ...referrer('c3'), given: { ip: '198.18.2.1' } })
  story.install('walk', 'ann')
  const pay = (install_uuid: string, event_id: string, transaction_id: string, revenue: number) => ({
    event_id,
    event_name: 'purchase',
    install_uuid,
    event_ts_ms: story.now(),
    revenue,
    transaction_id,
  })
  story.batch('run', [pay('ann', 'p1', 't1', 10), pay('ann', 'p2', 't2', 20), pay('ann', 'p3', 't3', 40)])
  story.settle()
  story.event('run.key', pay('bob', 'p1', 't1', 100))
  story.batch('run', [pay('bob', 'p2', 't2', 200)])
  story.settle()
  const open = (install_uuid: string, event_id: string, event_ts_ms = story.now()) => ({
    event_id,
    event_name: 'app_open',
    install_uuid,
    event_ts_ms,
  })
  send('POST /event', {
    as: as('run'),
    body: { events: [open('ann', 'o1'), open('bob', 'o1')] },
    keep: { shared: 'audit_key' },
  })
  send('POST /s2s/events/bulk', {
    key: 'run.key',
    body: { events: [open('ann', 'o2'), { ...open('cid', 'o2'), event_id: undefined }] },
    keep: { bulk: 'audit_key' },
  })
  send('POST /s2s/event', { key: 'run.key', body: open('ann', 'alone'), keep: { alone: 'audit_key' } })
  story.settle()
  story.figures()
  const window = { key: 'run.key', since_ms: Date.UTC(2031, 4, 10), until_ms: Date.UTC(2031, 4, 30) }
  const installs = ['ann', 'bob', 'cid', 'dan', 'eve']
  const few = () => story.ask({ ...window, few: true, installs })
  const certificate = (name: string, app = 'run') =>
    admin(`GET /erasures?app_id={{${app}.app_id}}&install_uuid=${name}`)
  const objects = () => {
    for (const key of ['shared', 'bulk', 'alone'])
      send(`GET /admin/api/v1/audit-objects?key={{${key}}}&app_id={{run.app_id}}`)
  }
  few()
  objects()
  for (const body of ['', '{}', '[]', { install_uuid: 'a b' }, { install_uuid: '' }])
    send('POST /privacy/delete', { as: as('run'), body })
  send('POST /privacy/delete', { body: { install_uuid: 'ann' } })
  send('POST /privacy/delete', { as: as('run'), body: { install_uuid: 'ann' } })
  send('POST /privacy/delete', { as: as('run'), body: { install_uuid: 'ann' }, gzip: true })
  story.settle()
  certificate('ann')
  certificate('bob')
  certificate('ann', 'walk')
  few()
  story.wait(minute_ms)
  story.erase()
  story.settle()
  certificate('ann')
  few()
  objects()
  // What comes again is dropped; what is sent and dated afterwards is a new life.
  const before = Date.UTC(2031, 4, 12, 11)
  story.batch('run', [open('ann', 'o1', before), open('ann', 'back', before), open('ann', 'life'), open('bob', 'o3')])
  story.event('run.key', pay('bob', 'p4', 't3', 400))
  story.event('run.key', pay('bob', 'p5', 't2', 800))
  story.install('run', 'eve', { ...referrer('c1'), given: { ip: '198.18.4.1' } })
  story.settle()
  few()
  story.admin('POST /replays', { source: 'audit' })
  story.admin('POST /replays', { source: 'log' })
  story.settle()
  few()
  story.wait(hour_ms)
  story.install('run', 'ann', { device, given: { ip: '198.18.1.1' }, event_id: 'second' })
  story.event('run.key', pay('ann', 'p1', 't9', 7))
  story.settle()
  few()
  // Nights: a request of an operator and of a phone, then the same install once more, and one whose clock is ahead.
  admin('POST /erasures', { app_id: '{{run.app_id}}', install_uuid: 'dan' })
  send('POST /privacy/delete', { as: as('run'), body: { install_uuid: 'bob' } })
  story.settle()
  certificate('dan')
  story.until('2031-05-13T01:59:00.000Z')
  story.jobs()
  certificate('dan')
  story.until('2031-05-13T02:00:00.000Z')
  story.jobs()
  for (const name of ['dan', 'bob']) certificate(name)
  few()
  story.event('run.key', open('ahead', 'h1', story.now() + 10 * hour_ms))
  story.until('2031-05-15T12:00:00.000Z')
  story.event('run.key', open('ahead', 'h2'))
  story.until('2031-05-14T12:00:00.000Z')
  admin('POST /erasures', { app_id: '{{run.app_id}}', install_uuid: 'ahead' })
  admin('POST /erasures', { app_id: '{{run.app_id}}', install_uuid: 'ann' })
  story.erase()
  story.event('run.key', open('ahead', 'h3'))
  story.event('run.key', open('ann', 'h3'))
  story.settle()
  story.until('2031-05-16T12:00:00.000Z')
  story.event('run.key', open('ahead', 'h4'))
  story.restart()
  story.jobs()
  for (const name of ['ann', 'ahead', 'eve']) certificate(name)
  story.admin('POST /replays', { source: 'audit' })
  story.settle()
  admin('GET /companies/{{shop.company_id}}/usage')
  story.figures()
  story.ask({
    ...window,
    partners: ['acme', 'zeta', 'organic'],
    event_names: ['purchase', 'app_open'],
    windows: [[before, before + 3 * hour_ms]],
    installs: [...installs, 'ahead'],
  })
  story.ask({ ...window, key: 'walk.key', few: true })
  return story.steps
}

/** What the nightly run takes away after the days of a company, and what stays of it. */
export function retention() {
  const story = writeStory('2031-02-03T10:00:00.000Z')
  const { send, admin } = story
  story.company('shop')
  story.company('keeps')
  story.app('run', 'shop')
  story.app('calm', 'keeps')
  story.link('acme', 'run')
  admin('PATCH /companies/{{shop.company_id}}', { keep_ip_days: 0 })
  admin('PATCH /companies/{{shop.company_id}}', { keep_click_days: 91 })
  admin('PATCH /companies/{{shop.company_id}}', { keep_ip_days: 2, keep_click_days: 5, keep_raw_days: 8 })
  story.click('acme', { keep_click: 'c1', ip: '198.18.1.1' })
  story.click('acme', { keep_click: 'c2', ip: '198.18.2.1' })
  story.click('acme', { keep_click: 'c3', ip: '198.18.3.1' })
  story.settle()
  story.wait(hour_ms)
  story.install('run', 'ann', {
    props: { install_referrer: 'tb_click={{c1}}' },
    given: { ip: '198.18.1.1', keep: { batch: 'audit_key' } },
    user_id: 'u',
  })
  send('POST /s2s/event', {
    key: 'run.key',
    body: {
      event_id: 'ip',
      event_name: 'app_install',
      install_uuid: 'bob',
      event_ts_ms: story.now(),
      device: { os: 'android', ip: '198.18.2.1', os_version: '14', model: 'Pixel 8' },
    },
    keep: { single: 'audit_key' },
  })
  story.event('calm.key', { event_id: 'i', event_name: 'app_install', install_uuid: 'cal' })
  story.settle()
  const open = (day: number, hour: number, more = {}) => ({
    event_id: `o${day}-${hour}`,
    event_name: 'app_open',
    install_uuid: 'ann',
    event_ts_ms: Date.UTC(2031, 1, day, hour),
    ...more,
  })
  for (let day = 4; day < 12; day += 1) {
    story.until(new Date(Date.UTC(2031, 1, day, 12)).toISOString())
    story.batch('run', [
      open(day, 3),
      open(day, 11),
      open(day, 11, { event_id: `p${day}`, event_name: 'purchase', revenue: day, transaction_id: `t${day}` }),
    ])
    story.event('calm.key', open(day, 4, { install_uuid: 'cal' }))
  }
  story.settle()
  story.figures()
  const window = { key: 'run.key', since_ms: Date.UTC(2031, 1, 1), until_ms: Date.UTC(2031, 2, 1) }
  const inside: [number, number][] = [
    [Date.UTC(2031, 1, 5, 6), Date.UTC(2031, 1, 10, 6)],
    [Date.UTC(2031, 1, 3, 12), Date.UTC(2031, 1, 11, 8)],
  ]
  const objects = () => {
    for (const key of ['batch', 'single']) send(`GET /admin/api/v1/audit-objects?key={{${key}}}&app_id={{run.app_id}}`)
  }
  const few = () => {
    story.ask({ ...window, few: true, installs: ['ann', 'bob', 'eve'] })
    objects()
    for (const [since, until] of inside)
      send(`GET /api/v1/reports/events?since_ms=${since}&until_ms=${until}`, { key: 'run.key' })
  }
  few()
  story.until('2031-02-12T03:00:00.000Z')
  story.jobs()
  story.jobs()
  few()
  // A click that is gone, an event that is sent again, a later purchase on days that have expired, an erasure.
  story.install('run', 'eve', { props: { install_referrer: 'tb_click={{c3}}' }, given: { ip: '198.18.9.1' } })
  story.batch('run', [
    open(4, 3),
    open(4, 5, { event_id: 'late' }),
    open(4, 6, { event_id: 'late_money', event_name: 'purchase', revenue: 100, transaction_id: 't5' }),
    open(4, 7, { event_id: 'new_money', event_name: 'purchase', revenue: 1000 }),
  ])
  story.settle()
  few()
  story.wait(25 * hour_ms)
  story.jobs()
  story.jobs()
  few()
  admin('POST /erasures', { app_id: '{{run.app_id}}', install_uuid: 'ann' })
  story.erase()
  story.settle()
  admin('GET /erasures?app_id={{run.app_id}}&install_uuid=ann')
  admin('POST /replays', { source: 'audit' })
  admin('PATCH /companies/{{shop.company_id}}', { keep_raw_days: null, keep_ip_days: 30 })
  story.wait(2 * day_ms + minute_ms)
  story.jobs()
  story.ask({
    ...window,
    event_names: ['purchase', 'app_open'],
    partners: ['acme', 'organic'],
    windows: inside,
    installs: ['ann', 'bob', 'eve'],
  })
  story.ask({ ...window, key: 'calm.key', few: true, installs: ['cal'] })
  return story.steps
}
