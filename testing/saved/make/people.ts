import { type Random, randomOf } from '../../fuzz/random.ts'
import { android, day_ms, hour_ms, minute_ms, writeStory } from './story.ts'

/** Installs that come back at every edge of a day since their install, and bring money there. */
export function cohorts() {
  const story = writeStory('2031-01-06T12:00:00.000Z')
  story.company('shop')
  story.app('run', 'shop')
  story.link('acme', 'run')
  story.click('acme', { keep_click: 'tap' })
  story.settle()
  story.admin('POST /fx-rates', 'Date,USD\n2031-01-01,1.25\n2031-02-01,2\n')
  const installed = Date.UTC(2031, 0, 5, 18, 30)
  const people = ['d0', 'd1', 'd1_last', 'd2', 'd7', 'd7_before', 'd30', 'd30_last', 'd31', 'd365', 'early', 'none']
  const events = people.map((install_uuid) => ({
    event_id: 'i',
    event_name: 'app_install',
    install_uuid,
    event_ts_ms: installed,
    user_id: install_uuid,
  }))
  story.bulk('run.key', events)
  story.install('run', 'clicked', { props: { install_referrer: 'tb_click={{tap}}' }, user_id: 'c' })
  story.bulk(
    'run.key',
    ['d1', 'none'].map((user_id, n) => ({
      event_id: 'i',
      event_name: 'app_install',
      install_uuid: `re_${user_id}`,
      event_ts_ms: installed + (n + 1) * day_ms,
      user_id,
    })),
  )
  story.settle()
  const at = (install_uuid: string, ms: number, more = {}) => ({
    event_id: `at-${ms}`,
    event_name: 'app_open',
    install_uuid,
    event_ts_ms: installed + ms,
    ...more,
  })
  const money = (install_uuid: string, ms: number, revenue: number, currency = 'USD') =>
    at(install_uuid, ms, { event_id: `m-${ms}`, event_name: 'purchase', revenue, currency })
  story.until('2032-01-20T12:00:00.000Z')
  story.bulk('run.key', [
    ...[
      at('d1', day_ms),
      at('d1_last', 2 * day_ms - 1),
      at('d2', 2 * day_ms),
      at('d7', 7 * day_ms),
      at('d7_before', 7 * day_ms - 1),
    ],
    ...[
      at('d30', 30 * day_ms),
      at('d30_last', 31 * day_ms - 1),
      at('d31', 31 * day_ms),
      at('d365', 365 * day_ms),
      at('early', -1),
    ],
    ...[at('d0', 1), at('re_d1', 2 * day_ms + 1), at('clicked', day_ms)],
    ...[
      money('d0', 0, 1),
      money('d0', day_ms - 1, 2),
      money('d0', day_ms, 4),
      money('d7', 8 * day_ms - 1, 8),
      money('d7', 8 * day_ms, 16),
    ],
    ...[
      money('early', -1, 32),
      money('d30', 30 * day_ms, 64, 'EUR'),
      money('d365', 365 * day_ms, 128),
      money('clicked', hour_ms + day_ms, 3, 'EUR'),
    ],
    ...[
      money('d2', 2 * day_ms, 5, 'CHF'),
      at('d2', 3 * day_ms, { event_id: 'r', event_name: 'purchase_refunded', revenue: 1 }),
    ],
  ])
  story.settle()
  story.figures()
  const since_ms = Date.UTC(2031, 0, 1)
  story.ask({
    key: 'run.key',
    since_ms,
    until_ms: Date.UTC(2031, 11, 20),
    partners: ['acme', 'organic'],
    windows: [
      [installed, installed + 1],
      [installed + 1, installed + 30 * day_ms],
    ],
  })
  for (const days of ['0', '365', '0,1,2,6,7,8,29,30,31,364'])
    for (const report of ['cohorts', 'ltv'])
      story.send(`GET /api/v1/reports/${report}?since_ms=${since_ms}&until_ms=${since_ms + 20 * day_ms}&days=${days}`, {
        key: 'run.key',
      })
  return story.steps
}

/** A company like any other: random people of two apps over three weeks. `seed` makes another one. */
export function mixed(seed: number) {
  const story = writeStory('2031-03-03T06:00:00.000Z')
  const random = randomOf(seed, 0)
  story.company('shop')
  for (const app of ['run', 'walk']) {
    story.app(app, 'shop')
    for (const partner of ['acme', 'zeta'])
      story.link(`${app}.${partner}`, app, { partner, campaign: random.pick(['spring', 'sale']) })
  }
  story.admin('POST /fx-rates', 'Date,USD,JPY\n2031-03-01,1.1,150\n2031-03-10,1.2,160\n')
  const people: Person[] = []
  for (let day = 0; day < 8; day += 1) {
    story.until(new Date(Date.UTC(2031, 2, 3 + day, 7)).toISOString())
    const coming = Array.from({ length: 5 }, (_, n) => person(random, people.length + n))
    for (const one of coming.filter(({ clicks }) => clicks !== null)) {
      const query = random.chance(0.5) ? `?gaid=${one.gaid}&click_id=x${one.n}` : ''
      story.click(`${one.app}.${one.clicks}`, { keep_click: `tap${one.n}`, ip: one.ip, query })
    }
    story.settle()
    for (const one of coming) {
      story.wait(random.below(90) * minute_ms)
      const props = one.clicks !== null && random.chance(0.6) ? { install_referrer: `tb_click={{tap${one.n}}}` } : {}
      story.install(one.app, one.uuid, {
        props,
        user_id: one.user,
        device: { ...android, gaid: one.gaid },
        given: { ip: one.ip },
      })
      people.push(one)
    }
    story.settle()
    for (let n = 0; n < 12; n += 1) act(story, random, random.pick(people))
    if (random.chance(0.3)) {
      story.jobs()
      story.figures()
    }
    if (random.chance(0.3)) {
      const { app, uuid } = random.pick(people)
      story.send('POST /privacy/delete', { as: story.as(app), body: { install_uuid: uuid } })
      story.jobs()
      story.erase()
    }
  }
  story.jobs()
  story.figures()
  const since_ms = Date.UTC(2031, 2, 1)
  for (const app of ['run', 'walk'])
    story.ask({
      ...{
        key: `${app}.key`,
        since_ms,
        until_ms: since_ms + 25 * day_ms,
        partners: ['acme', 'zeta', 'organic'],
        event_names: ['purchase', 'level_up'],
      },
      ...{ windows: [[since_ms + 5 * day_ms + 9 * hour_ms, since_ms + 11 * day_ms + 13 * hour_ms]] },
      installs: people.filter((one) => one.app === app).map(({ uuid }) => uuid),
    })
  return story.steps
}

interface Person {
  n: number
  uuid: string
  app: string
  ip: string
  gaid: string
  user: string | undefined
  clicks: string | null
}

const person = (random: Random, n: number): Person => ({
  n,
  uuid: `person-${n}`,
  app: random.pick(['run', 'run', 'walk']),
  ip: `198.18.${random.below(30)}.${random.below(250)}`,
  gaid: `eeeeeeee-0000-4000-8000-0000000000${10 + random.below(40)}`,
  user: random.chance(0.4) ? `user-${random.below(10)}` : undefined,
  clicks: random.pick(['acme', 'zeta', null]),
})

/** Something that an installed app or its backend tells. */
function act(story: ReturnType<typeof writeStory>, random: Random, { app, uuid }: Person): void {
  story.wait(random.below(40) * minute_ms)
  const event_ts_ms = story.now() - random.pick([0, 0, hour_ms, day_ms, 3 * day_ms])
  const event_name = random.pick(['app_open', 'level_up', 'purchase', 'purchase', 'purchase_refunded'])
  const is_money = event_name.startsWith('purchase')
  const event = {
    ...{ event_id: `e-${random.below(12)}`, event_name, install_uuid: uuid, event_ts_ms },
    ...(is_money && { revenue: random.below(2000) / 100, currency: random.pick(['USD', 'EUR', 'JPY', undefined]) }),
    ...(is_money && random.chance(0.5) && { transaction_id: `t-${random.below(8)}` }),
  }
  const send = random.below(3)
  if (send === 0) story.batch(app, [event], { body: { sent_at_ms: story.now() - random.pick([0, 0, 2 * hour_ms]) } })
  else if (send === 1) story.event(`${app}.key`, event)
  else
    story.bulk(`${app}.key`, [
      event,
      { ...event, event_id: `f-${random.below(12)}`, event_name: 'level_up', revenue: undefined },
    ])
}
