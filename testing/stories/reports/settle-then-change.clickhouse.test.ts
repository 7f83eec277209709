import { day_ms } from '@tributary/contracts/limits'
import { reportNames, reports } from '@tributary/contracts/reports'
import type { FigureName } from '@tributary/tables/settled/figures'
import { findSettled, findSettledCohorts } from '@tributary/tables/settled/find-settled'
import { type DecidedInstall, dayOf, type Rate, type SentEvent } from '@tributary/testing/oracle/history'
import type { Question } from '@tributary/testing/oracle/question'
import { first_ms, now_ms, partitions } from '@tributary/testing/oracle/random-history'
import { roundsOf } from '@tributary/testing/rounds'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newAppId, openReportStage, type ReportStage } from './stage.ts'

const hour_ms = 3_600_000
/** A time on day `n` after the first. */
const on = (n: number, ms = 0) => first_ms + n * day_ms + ms

let stage: ReportStage
beforeAll(async () => {
  stage = await openReportStage()
  await write('earlier')
  await stage.settle()
  for (const one of apps) expect(await openDays(one)).toEqual([])
  await write('later')
})
afterAll(() => stage.close())

let events_sent = 0
function event(install_uuid: string, event_ts_ms: number, given: Partial<SentEvent> = {}): SentEvent {
  return {
    ...{ app: 0, install_uuid, partition: install_uuid.charCodeAt(0) % partitions, source: 'sdk' },
    ...{ received_at_ms: now_ms, event_id: `e${events_sent++}`, event_name: 'app_open', event_ts_ms },
    ...{ revenue: null, currency: null, transaction_id: null },
    ...given,
  }
}
const paid = (install_uuid: string, event_ts_ms: number, revenue: number, given: Partial<SentEvent> = {}) =>
  event(install_uuid, event_ts_ms, { event_name: 'purchase', revenue, ...given })

function verdict(install_uuid: string, installed_at_ms: number, given: Partial<DecidedInstall> = {}): DecidedInstall {
  const { partner = 'acme' } = given
  const attribution_type = partner === 'organic' ? 'organic' : 'click_id'
  const facts = { reinstall: false, flagged: false, pending: false }
  return { app: 0, install_uuid, installed_at_ms, partner, attribution_type, ...facts, ...given }
}
const waiting = { pending: true, partner: '', attribution_type: '' }

/** The installs a to d and g are new, r is a reinstall, p waits for its click, and n has no verdict. */
const installed = {
  g: on(0, 5),
  a: on(0, 10 * hour_ms),
  b: on(0, day_ms - 1),
  c: on(1),
  d: on(3, hour_ms),
  r: on(1, 5),
  p: on(1, 7),
}

/** The events, decisions and rates that are written and settled before each change. */
const before = () => ({
  events: [
    ...Object.entries(installed).map(([uuid, ms]) => event(uuid, ms, { event_name: 'app_install' })),
    ...[event('a', installed.a + day_ms), event('a', installed.a + 8 * day_ms - 1), event('b', on(8))],
    ...[event('c', installed.c + 31 * day_ms), event('n', on(1)), event('r', installed.r + day_ms)],
    ...[paid('a', on(1), 4.99), paid('a', on(2), 2, { currency: 'EUR' }), paid('b', on(2), 7, { currency: 'GBP' })],
    ...[paid('b', on(8, 1), 1), paid('c', on(1, 1), 3, { currency: 'XXX' }), paid('n', on(2), 5), paid('r', on(2), 6)],
    ...[paid('p', on(2), 8), paid('a', on(9), -1), paid('d', installed.d, 9, { transaction_id: 't1' })],
    paid('c', on(2), 0.5, { event_name: 'purchase_refunded' }),
  ],
  decisions: [
    ...[verdict('a', installed.a), verdict('b', installed.b, { partner: 'zen' })],
    ...[verdict('c', installed.c, { partner: 'organic' }), verdict('d', installed.d), verdict('g', installed.g)],
    ...[verdict('r', installed.r, { reinstall: true }), verdict('p', installed.p, waiting)],
  ],
  rates: [
    { currency: 'EUR', day: dayOf(on(0)), usd_e5: 108_000, units_e5: 100_000 },
    { currency: 'GBP', day: dayOf(on(5)), usd_e5: 108_000, units_e5: 87_654 },
  ] satisfies Rate[],
})

interface Change {
  events?: SentEvent[]
  decisions?: DecidedInstall[]
  rates?: Rate[]
}

const changes: Record<string, Change> = {
  nothing: {},
  'a late event': { events: [event('c', on(8, 5))] },
  'a late event in the last millisecond of a window': { events: [event('b', installed.b + 2 * day_ms - 1)] },
  'a late event in the first millisecond of a window': { events: [event('a', installed.a + 7 * day_ms)] },
  'a late event whose clock was so slow that its own day is before that of its window': {
    events: [event('b', installed.b + day_ms - day_ms / 2, { skew_ms: day_ms / 2 })],
  },
  'a late event whose clock was so fast that its own day is behind that of its window': {
    events: [event('b', installed.b + 3 * day_ms, { skew_ms: -day_ms })],
  },
  'a payment whose clock was so slow that its own day is before that of its install': {
    events: [paid('c', installed.c - 5, 4, { skew_ms: 5 })],
  },
  'a payment whose clock was fast, so that it came before its install': {
    events: [paid('a', installed.a + 1, 4, { skew_ms: -2 })],
  },
  'a late event of a name that is new that day': { events: [event('b', on(2), { event_name: 'gift' })] },
  'an event before its install': { events: [event('d', on(0)), paid('d', on(2), 11)] },
  'an event of an install without a verdict': { events: [paid('n', on(2), 3)] },
  'a duplicate': { events: [event('b', on(8), { event_id: 'again' }), event('b', on(8), { event_id: 'again' })] },
  'a first payment': { events: [paid('c', on(2), 4)] },
  'a further payment of an install that paid on the day': { events: [paid('a', on(2), 4), paid('b', on(8), 4)] },
  'a payment that was received before others of its day and written later': {
    events: [paid('a', on(2), 4, { received_at_ms: now_ms - 2000 }), paid('c', on(2), 4)],
  },
  'a payment in another currency': { events: [paid('a', on(2), 4, { currency: 'XXX' })] },
  'a payment on a day without money': { events: [paid('a', on(12), 4)] },
  'a refund': { events: [paid('a', on(2), 2, { event_name: 'purchase_refunded', currency: 'EUR' })] },
  'a refund that is all the money of its day': {
    events: [paid('b', on(20), 2, { event_name: 'subscription_refunded' })],
  },
  'money that is cancelled': { events: [paid('d', on(4), 12, { source: 's2s', transaction_id: 't1' })] },
  'money that is cancelled on its own day': {
    events: [paid('d', installed.d + 1, 12, { source: 's2s', transaction_id: 't1' })],
  },
  'a corrected rate': { rates: [{ currency: 'EUR', day: dayOf(on(2)), usd_e5: 108_000, units_e5: 216_000 }] },
  'a rate of a currency that had none': {
    rates: [{ currency: 'XXX', day: dayOf(on(0)), usd_e5: 108_000, units_e5: 700_000 }],
  },
  'a verdict of another partner': { decisions: [verdict('a', installed.a, { partner: 'zen' })] },
  'a verdict that becomes organic': { decisions: [verdict('b', installed.b, { partner: 'organic' })] },
  'a verdict that becomes flagged': { decisions: [verdict('a', installed.a, { flagged: true })] },
  'a verdict that is withdrawn': { decisions: [verdict('a', installed.a, waiting)] },
  'the verdict of an install that waited': { decisions: [verdict('p', installed.p, { partner: 'zen' })] },
  'the first verdict of an install with money': { decisions: [verdict('n', on(1))] },
  'a new install on a settled day': {
    decisions: [verdict('e', on(0, 3))],
    events: [event('e', on(0, 3), { event_name: 'app_install' })],
  },
  'an identity that makes an install a reinstall': { decisions: [verdict('a', installed.a, { reinstall: true })] },
  'a reinstall that was none': { decisions: [verdict('r', installed.r)] },
  'another install time on the same day': { decisions: [verdict('a', installed.a + hour_ms)] },
  'another install time on another day': { decisions: [verdict('a', installed.a + 2 * day_ms)] },
  'an install that goes from a day as its only one': { decisions: [verdict('d', on(2))] },
  'two changes of one install': {
    decisions: [verdict('a', installed.a, { partner: 'zen' })],
    events: [paid('a', on(1), 1)],
  },
}

const days = [0, 2, 7]
/** An app has several stories, because a statement costs the same for all of them. Each has days to itself. */
const story_days = 64
const stories_of_app = 5

const isSameRate = (a: Rate, b: Rate) => a.currency === b.currency && a.day === b.day

/** Changes of rates come first here, which makes their stories the last in time: a rate holds for all later days. */
const ordered = Object.entries(changes).toSorted(([, a], [, b]) => Number('rates' in b) - Number('rates' in a))
const app_count = Math.ceil(ordered.length / stories_of_app)

/** Each change with the installs of `before`, all of it earlier by `moved_ms`. */
const stories = ordered.map(([name, change], n) => {
  const [app, nth] = [n % app_count, Math.floor(n / app_count)]
  const moved_ms = nth * story_days * day_ms
  const given = before()
  const { events = [], decisions = [], rates = [] } = change
  const kept = given.rates.filter((one) => !rates.some((other) => isSameRate(one, other)))
  // A changed verdict alters the days of every app whose installs have the same name.
  const own = (name: string) => `${name}-${app}-${nth}`
  const move = (one: SentEvent): SentEvent => ({
    ...{ ...one, app, install_uuid: own(one.install_uuid), event_ts_ms: one.event_ts_ms - moved_ms },
    transaction_id: one.transaction_id && own(one.transaction_id),
  })
  const decide = (one: DecidedInstall): DecidedInstall => ({
    ...{ ...one, app, install_uuid: own(one.install_uuid), installed_at_ms: one.installed_at_ms - moved_ms },
  })
  // The gateway received it after all that is settled, as later events are, unless a change says otherwise.
  const later = (one: SentEvent) => ({ ...move(one), received_at_ms: one.received_at_ms + 1000 })
  return {
    ...{ name, app, moved_ms },
    rates: [...kept, ...rates].map((one) => ({ ...one, day: dayOf(Date.parse(one.day) - moved_ms) })),
    earlier: { events: given.events.map(move), decisions: given.decisions.map(decide) },
    later: { events: events.map(later), decisions: decisions.map(decide) },
  }
})

/** Every app with its stories. */
const apps = [...Map.groupBy(stories, ({ app }) => app)].map(([app, own]) => ({
  ...{ app, app_id: newAppId(), stories: own, names: own.map(({ name }) => name).join('; after ') },
  rates: own.flatMap(({ rates }) => rates),
  ...placed(own),
}))
type App = (typeof apps)[number]

/** The events and decisions of an app before and after the changes, each decision with its place among those of the app. */
function placed(own: typeof stories) {
  let place = 0
  const partOf = (name: 'earlier' | 'later') => ({
    events: own.flatMap((one) => one[name].events),
    decisions: own.flatMap((one) => one[name].decisions).map((one) => ({ ...one, place: place++ })),
  })
  return { earlier: partOf('earlier'), later: partOf('later') }
}

const whole = { since_ms: on(-5 - (stories_of_app - 1) * story_days), until_ms: on(40) }
/** Questions about the days of one story, asked in turn. */
const othersOf = (moved_ms: number): Question[] => [
  { since_ms: on(-5, -moved_ms), until_ms: on(40, -moved_ms), group: 'week', days },
  { since_ms: on(0, 11 * hour_ms - moved_ms), until_ms: on(8, 1 - moved_ms), days },
]

const write = (part: 'earlier' | 'later') =>
  stage.write(
    { events: apps.flatMap((one) => one[part].events), decisions: apps.flatMap((one) => one[part].decisions) },
    apps.map(({ app_id }) => app_id),
  )

async function compareAll(
  { app, app_id, names, rates, earlier, later }: App,
  questionsOf: (n: number) => readonly Question[] = () => [whole],
): Promise<void> {
  stage.rates = rates
  const history = {
    events: [...earlier.events, ...later.events],
    decisions: [...earlier.decisions, ...later.decisions],
  }
  for (const [n, report] of reportNames.filter((name) => name !== 'skan' && name !== 'costs').entries()) {
    for (const { days, ...question } of questionsOf(n)) {
      const of_report = { ...question, ...('days' in reports[report] && days && { days }) }
      await stage.compare({ history, app, app_id, note: names }, report, of_report)
    }
  }
}

test('payments alone make no other change of a settled day, so that reports add them to its figures', async () => {
  for (const { app_id, stories } of apps) {
    const rows = await stage.clickhouse.query<{ date: string; others: number; grown: number }>(
      `SELECT toString(day) AS date, sum(rows) - sum(added) - max(noted) AS others, sum(added) - max(counted) AS grown
       FROM (
         SELECT day, rows, added, 0 AS noted, 0 AS counted FROM report_stamps_v1
         WHERE app_id = {app_id:String} AND source = 'money'
         UNION ALL
         SELECT day, 0, 0, other_changes, events FROM settled_money_v1 FINAL WHERE app_id = {app_id:String}
       )
       GROUP BY day`,
      { app_id },
    )
    for (const { name, moved_ms, later } of stories) {
      const isCancelled = later.events.some(({ transaction_id }) => transaction_id !== null)
      if (isCancelled || later.decisions.length > 0) continue
      const own = rows.filter(({ date }) => date >= dayOf(on(-5, -moved_ms)) && date <= dayOf(on(40, -moved_ms)))
      const others = own.filter(({ others }) => others > 0)
      expect(others, name).toEqual([])
      const grown = own.reduce((sum, day) => sum + day.grown, 0)
      expect(grown, name).toBe(later.events.filter(({ revenue }) => revenue !== null).length)
    }
  }
})

describe('settle everything, then change one thing, and ask at once', () => {
  // `test.each` would cut the names, by which a fault finds its test (testing/mutants).
  for (const one of apps)
    test(`after ${one.names} every row of every report is right`, async () => {
      // Some of the stories for each report: all reports meet each of the other questions after several changes.
      const othersAt = (n: number) => othersOf(one.stories[n % one.stories.length]!.moved_ms)
      const other = (n: number) => othersAt(n)[(one.app + n) % 2]!
      await compareAll(one, (n) => [
        whole,
        ...Array.from({ length: roundsOf(1) }, (_, round) => other(one.app + n + round)),
      ])
    })
})

test('settled again after changed verdicts, every row of every report is right', async () => {
  await stage.settle()
  // Some of the reports of each app: all of them meet several kinds of verdicts.
  for (const one of apps) await compareAll(one, (n) => ((one.app + n) % 2 < roundsOf(1) ? [whole] : []))
})

/** Payments of the first app, after all of its stories. */
const late: SentEvent[] = []

test.each(['revenue', 'ltv'] as const)(
  'a day that is settled again while %s reads it counts no payment twice',
  async (report) => {
    await stage.settle()
    const { app, app_id, rates, earlier, later } = apps[0]!
    late.push({ ...paid('a-0-0', on(2), 4), app, received_at_ms: now_ms + 1000 * (late.length + 1) })
    await stage.write({ events: late.slice(-1), decisions: [] }, [app_id])
    let settled_again = false
    stage.beforeStatement = async (sql) => {
      if (settled_again || !/settled_money_v1.*ARRAY JOIN/.test(sql) || !sql.includes('grown_days')) return
      settled_again = true
      await stage.settle()
    }
    stage.rates = rates
    const history = {
      events: [...earlier.events, ...later.events, ...late],
      decisions: [...earlier.decisions, ...later.decisions],
    }
    await stage.compare({ history, app, app_id, note: 'settled again' }, report, {
      ...whole,
      ...(report === 'ltv' && { days }),
    })
    expect(settled_again).toBe(true)
  },
)

/** Days with data that a report works out now, although they are settled; otherwise the tests above would prove nothing. */
async function openDays({ app_id, stories }: App): Promise<string[]> {
  const range = { app_id, from: dayOf(whole.since_ms), to: dayOf(whole.until_ms) }
  const daysOf = (...numbers: number[]) =>
    stories.flatMap(({ moved_ms }) => numbers.map((n) => dayOf(on(n, -moved_ms))))
  const [install_days, money_days] = [daysOf(0, 1, 3), daysOf(1, 2, 3, 8, 9)]
  const withData: Record<FigureName, string[]> = {
    installs: install_days,
    uniques: daysOf(0, 1, 2, 3, 8, 9),
    money: money_days,
    payments: money_days,
    campaigns: install_days,
    clicks: [],
    earnings: money_days,
  }
  const open: string[] = []
  for (const [figure, dates] of Object.entries(withData) as [FigureName, string[]][]) {
    const { settled_days } = await findSettled(stage.clickhouse, figure, range)
    open.push(...dates.filter((day) => !settled_days.includes(day)).map((day) => `${figure} ${day}`))
  }
  const pairs = install_days.flatMap((day) => [1, 7, 30].map((n) => `${day} ${n}`))
  for (const name of ['cohorts', 'campaign_cohorts'] as const) {
    const { settled } = await findSettledCohorts(stage.clickhouse, name, { ...range, numbers: [1, 7, 30] })
    open.push(...pairs.filter((pair) => !settled.some(({ day, n }) => pair === `${day} ${n}`)))
  }
  return open
}
