import { android, day_ms, hour_ms, minute_ms, second_ms, writeStory } from './story.ts'

const march = Date.UTC(2031, 2, 1)

/** One event under one id, on all ways in, on the same day and on others; and the install that counts among several. */
export function duplicates() {
  const story = writeStory('2031-03-10T08:00:00.000Z')
  story.company('shop')
  story.app('run', 'shop')
  story.app('walk', 'shop')
  const noon = Date.UTC(2031, 2, 5, 12)
  const one = (event_id: string, event_ts_ms: number, more = {}) => ({
    ...{ event_id, event_name: 'level_up', install_uuid: 'ann', event_ts_ms, ...more },
  })
  story.batch('run', [one('a', noon), one('a', noon), one('a', noon + 1)])
  story.batch('run', [one('a', noon)])
  story.event('run.key', one('a', noon, { event_name: 'other_name' }))
  story.bulk('run.key', [one('a', noon + day_ms), one('a', noon - day_ms), one('b', noon), one('b', noon)])
  story.batch('walk', [one('a', noon)])
  story.batch('run', [one('a', noon, { install_uuid: 'bob' })])
  story.settle()
  story.ask({ key: 'run.key', since_ms: march, until_ms: march + 9 * day_ms, few: true })
  // Two days from the one that counts, and then between both.
  story.event('run.key', one('a', noon + 2 * day_ms))
  story.event('run.key', one('a', noon + day_ms))
  story.event('run.key', one('a', noon + 4 * day_ms - 1))
  story.event('run.key', one('edge', Date.UTC(2031, 2, 6) - 1))
  story.event('run.key', one('edge', Date.UTC(2031, 2, 7)))
  story.event('run.key', one('edge', Date.UTC(2031, 2, 8) - 1))
  // Each is another event, since it has no id.
  for (const _ of [1, 2]) story.event('run.key', one('', noon, { event_id: undefined, event_name: 'renewal' }))
  for (const _ of [1, 2]) story.bulk('run.key', [one('', noon, { event_id: undefined, event_name: 'renewal' })])
  story.settle()
  const install = (more: object) => ({
    event_name: 'app_install',
    install_uuid: 'eve',
    device: android,
    event_ts_ms: noon,
    ...more,
  })
  story.batch('run', [install({ event_id: 'x', event_name: 'app_first_open', event_ts_ms: noon - hour_ms })])
  story.settle()
  story.batch('run', [install({ event_id: 'x' })])
  story.batch('run', [install({ event_id: 'y', event_ts_ms: noon + 3 * day_ms })])
  story.event('run.key', install({ event_id: 'z', event_ts_ms: noon - 3 * day_ms }))
  story.batch('run', [one('x', noon, { install_uuid: 'eve' })])
  const migrated = { event_id: 'm', install_uuid: 'old', props: { identity_migration: true } }
  story.batch('run', [install(migrated)])
  story.batch('run', [install({ ...migrated, event_id: 'm2', event_ts_ms: noon + minute_ms })])
  story.batch('run', [install({ event_id: 'f1', install_uuid: 'fay', event_name: 'app_first_open' })])
  story.batch('run', [
    install({ event_id: 'f2', install_uuid: 'fay', event_name: 'app_first_open', event_ts_ms: noon - day_ms }),
  ])
  story.settle()
  story.restart()
  story.batch('run', [one('a', noon), one('b', noon + second_ms)])
  story.batch('run', [install({ event_id: 'y' })])
  story.settle()
  story.admin('POST /replays', { source: 'audit' })
  story.admin('POST /replays', { source: 'log', app_id: '{{run.app_id}}' })
  story.settle()
  story.ask({
    ...{ key: 'run.key', since_ms: march, until_ms: march + 12 * day_ms },
    ...{
      windows: [
        [noon - day_ms, noon + 1],
        [noon + 1, noon + 4 * day_ms],
      ],
      event_names: ['level_up', 'app_install'],
      partners: ['organic'],
    },
    installs: ['ann', 'eve', 'old', 'fay', 'nobody'],
  })
  story.ask({ key: 'walk.key', since_ms: march, until_ms: march + 12 * day_ms, few: true })
  return story.steps
}

/** Clocks of phones that are wrong, and the clock of the product set back and forth. */
export function clocks() {
  const story = writeStory('2031-04-07T12:00:00.000Z')
  story.company('shop')
  story.app('run', 'shop')
  /** An install with an opening, as a phone sends them whose clock is off. */
  const phone = (install_uuid: string, off_ms: number, says_time = true) => {
    const now = story.now() + second_ms + off_ms
    const event = { install_uuid, device: { ...android, gaid: `g-${install_uuid}` } }
    const events = [
      { ...event, event_id: 'i', event_name: 'app_install', event_ts_ms: now - 30 * minute_ms },
      { ...event, event_id: 'o', event_name: 'app_open', event_ts_ms: now },
      { ...event, event_id: 'p', event_name: 'purchase', event_ts_ms: now - 40 * minute_ms, revenue: 3 },
      { ...event, event_id: 'n', event_name: 'app_open', event_ts_ms: undefined },
    ]
    story.batch('run', events, { body: { sent_at_ms: says_time ? now : undefined } })
  }
  const offs: [string, number][] = [
    ['right', 0],
    ['ahead', 3 * hour_ms],
    ['behind', -20 * hour_ms],
    ['day_behind', -day_ms],
    ['over_a_day', -day_ms - 1],
    ['year_behind', -400 * day_ms],
    ['far_ahead', 23 * hour_ms],
  ]
  for (const [name, off_ms] of offs) phone(name, off_ms)
  phone('untold', -5 * hour_ms, false)
  const backend = (install_uuid: string, ago_ms: number, more = {}) =>
    story.event('run.key', {
      event_id: `b-${install_uuid}`,
      event_name: 'app_install',
      install_uuid,
      event_ts_ms: story.now() - ago_ms,
      ...more,
    })
  backend('filled', 60 * day_ms)
  backend('tomorrow', -20 * hour_ms)
  story.event('run.key', {
    event_id: 'pay',
    event_name: 'purchase',
    install_uuid: 'tomorrow',
    event_ts_ms: story.now() - hour_ms,
    revenue: 7,
  })
  story.settle()
  const installs = [...offs.map(([name]) => name), 'untold', 'filled', 'tomorrow']
  const window = { key: 'run.key', since_ms: Date.UTC(2031, 2, 20), until_ms: Date.UTC(2031, 3, 20) }
  story.ask({ ...window, few: true, installs })
  // Somebody sets the clock of the product by a minute, an hour and a day, both ways.
  for (const [n, jump_ms] of [minute_ms, -minute_ms, hour_ms, -hour_ms, day_ms, -day_ms].entries()) {
    story.wait(jump_ms)
    phone(`jump_${n}`, -jump_ms)
    story.event('run.key', {
      event_id: 'walk',
      event_name: 'level_up',
      install_uuid: `jump_${n}`,
      event_ts_ms: story.now(),
    })
    story.event('run.key', { event_id: 'again', event_name: 'level_up', install_uuid: 'right' })
    if (n % 2 === 1) story.settle()
  }
  story.until('2031-04-05T12:00:00.000Z')
  phone('before_all', 0)
  story.restart()
  phone('after_restart', 0)
  story.until('2031-04-08T12:00:00.000Z')
  phone('right', 0)
  story.jobs()
  story.figures()
  story.ask({
    ...window,
    event_names: ['app_open', 'level_up'],
    windows: [[Date.UTC(2031, 3, 7, 11, 30), Date.UTC(2031, 3, 7, 12, 30)]],
  })
  story.ask({
    ...window,
    reports: [],
    installs: [...installs, 'jump_0', 'jump_3', 'jump_5', 'before_all', 'after_restart'],
  })
  return story.steps
}
