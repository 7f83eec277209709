import { day_ms, hour_ms, minute_ms, writeStory } from './story.ts'

/** The quota of a month, the rate of a key, and what an operator changes about both. */
export function quota() {
  const story = writeStory('2031-01-31T20:00:00.000Z')
  const { send, admin, as } = story
  story.company('shop', { monthly_quota: 12 })
  story.company('none', { monthly_quota: 0 })
  story.company('free', { plan: 'free', monthly_quota: undefined })
  story.app('run', 'shop')
  story.app('walk', 'shop', { platform: 'ios', bundle_id: 'com.example.walk' })
  story.app('idle', 'none')
  story.app('open', 'free')
  const usage = (month = '') => admin(`GET /companies/{{shop.company_id}}/usage${month}`)
  const event = (event_id: string, more = {}) => ({
    event_id,
    event_name: 'level_up',
    install_uuid: 'ann',
    event_ts_ms: story.now(),
    ...more,
  })
  const events = (from: number, count: number) => Array.from({ length: count }, (_, n) => event(`e${from + n}`))
  story.batch('run', events(0, 5))
  story.event('walk.key', event('w1'))
  story.bulk('run.key', [...events(5, 2), event('e5'), event('bad', { event_name: '' })])
  usage()
  story.bulk('run.key', events(20, 5))
  story.bulk('run.key', events(20, 4))
  usage()
  story.event('run.key', event('one_more'))
  story.batch('run', [event('bad', { event_name: '' })])
  story.event('idle.key', event('never'))
  story.batch('idle', [event('never', { event_name: '' })])
  story.event('open.key', event('fine'))
  admin('GET /companies/{{free.company_id}}/usage')
  admin('PATCH /companies/{{shop.company_id}}', { monthly_quota: 14 })
  story.event('run.key', event('e30'))
  for (const n of [1, 2, 3])
    story.bulk(
      'run.key',
      Array.from({ length: 5 }, () => event(`bad_${n}`, { event_name: '' })),
    )
  usage()
  // A repeated event counts when it is accepted, and no longer once the tables show it.
  story.event('run.key', event('e30'))
  usage()
  for (const _ of [1, 2, 3, 4]) {
    story.wait(30 * 1000)
    story.jobs()
  }
  usage()
  story.event('run.key', event('e31'))
  usage()
  story.until('2031-02-01T00:00:00.000Z')
  story.event('run.key', event('f1'))
  usage()
  usage('?month=2031-01')
  usage('?month=2031-13')
  admin('PATCH /companies/{{shop.company_id}}', { plan: 'growth' })
  story.bulk('run.key', events(100, 30))
  for (const _ of [1, 2, 3]) {
    story.wait(30 * 1000)
    story.jobs()
  }
  usage()
  admin('GET /companies/{{none.company_id}}/usage')
  // A thousand requests of a key in a minute.
  send('POST /s2s/event', { key: 'walk.key', body: {}, times: 996 })
  for (const _ of [1, 2, 3, 4]) story.event('walk.key', event('rate'))
  send('GET /api/v1/reports/events', { key: 'walk.key' })
  story.event('run.key', event('other_key'))
  story.wait(52 * 1000)
  story.event('walk.key', event('still'))
  story.wait(10 * 1000)
  story.event('walk.key', event('again'))
  story.until('2031-01-31T23:00:00.000Z')
  story.event('walk.key', event('set_back'))
  story.until('2031-02-02T00:00:00.000Z')
  send('POST /privacy/delete', { as: as('run'), body: { install_uuid: 'flood-{{n}}' }, times: 60, ip: '192.0.2.{{n}}' })
  send('POST /privacy/delete', {
    as: as('run'),
    body: { install_uuid: 'more-{{n}}' },
    times: 60,
    every_ms: 10,
    ip: '192.0.2.77',
  })
  story.wait(2 * minute_ms)
  send('POST /privacy/delete', { as: as('run'), body: { install_uuid: 'later' }, ip: '192.0.2.77' })
  send('GET /admin/api/v1/companies', { headers: { authorization: 'Bearer {{x:40}}' }, times: 65, every_ms: 10 })
  send('GET /admin/api/v1/companies/{{shop.company_id}}')
  admin('POST /keys/{{walk.key.id}}/revoke')
  send('GET /api/v1/reports/events', { key: 'walk.key' })
  story.settle()
  const since_ms = Date.UTC(2031, 0, 30)
  story.ask({
    key: 'run.key',
    since_ms,
    until_ms: since_ms + 5 * day_ms,
    windows: [[since_ms, since_ms + day_ms + 21 * hour_ms]],
    reports: ['events'],
    event_names: ['level_up'],
  })
  return story.steps
}
