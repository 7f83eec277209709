import { methods, organic } from '@tributary/contracts/attribution/verdict'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import fc from 'fast-check'
import {
  type ClickRow,
  type CostUpload,
  type DecidedInstall,
  dayOf,
  type History,
  midnight,
  type Rate,
  type SentEvent,
} from './history.ts'

/** Start of all histories, and when they are read. Events may be sent until then. It is a Sunday at the end of a year. */
export const first_ms = Date.UTC(2025, 11, 28)
export const now_ms = first_ms + 40 * day_ms
/** Partitions of the log of events. */
export const partitions = 2

/** Jumps that the clock of a process may make. */
export const jumps_ms = [60_000, hour_ms, day_ms] as const

/** Times of a day: its edges more often than others. */
const timeOfDay = fc.oneof(fc.constantFrom(0, 1, day_ms / 2, day_ms - 1), fc.integer({ min: 0, max: day_ms - 1 }))
/** Install times on either side of a Monday and of the New Year. */
const installedAt = fc.tuple(fc.constantFrom(0, 1, 3, 4), timeOfDay).map(([day, ms]) => first_ms + day * day_ms + ms)

/** Times after the install. Edges of the 24-hour windows and midnights are more frequent than others. */
const afterInstall = fc.oneof(
  fc.tuple(fc.constantFrom(1, 0, 2, 7, 8, 30, 31, -1), fc.constantFrom(0, -1, 1)).map(
    ([n, ms]) =>
      (installed_at_ms: number) =>
        installed_at_ms + n * day_ms + ms,
  ),
  fc.tuple(fc.constantFrom(1, 0, 2, 3, 7, 8, 9, 30, 31), fc.constantFrom(0, -1, 1)).map(
    ([n, ms]) =>
      (installed_at_ms: number) =>
        midnight(installed_at_ms, n) + ms,
  ),
  fc.tuple(fc.integer({ min: -2, max: 33 }), timeOfDay).map(
    ([n, ms]) =>
      (installed_at_ms: number) =>
        midnight(installed_at_ms, n) + ms,
  ),
)

/** Ids, transactions and currencies come from pools so small that they meet. */
const event = fc.record({
  at: afterInstall,
  event_name: fc.constantFrom('app_open', 'purchase', 'purchase', 'subscription_refunded', 'app_install', 'gift'),
  event_id: fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8'),
  source: fc.constantFrom('sdk' as const, 's2s' as const, 'bulk' as const),
  revenue: fc.constantFrom(null, 4.99, 0, 0.000049, -2, 1_234_567.891234),
  currency: fc.constantFrom(null, 'USD', 'eur', 'GBP', 'XXX'),
  transaction_id: fc.constantFrom(null, null, 't1', 't2'),
  /** Received so long after the time that it tells; null: received last of all. */
  received_after_ms: fc.constantFrom(null, null, null, 1, -1, -day_ms),
  /** Lead over `now_ms` of the clock of the process that received it last; negative when it was behind. */
  received_in_ms: fc.constantFrom(0, 0, -5, -1000, ...jumps_ms, ...jumps_ms.map((ms) => -ms)),
  /** What an SDK's clock was slow: up to 24 hours count. */
  skew_ms: fc.constantFrom(null, null, 0, 1, -1, hour_ms, -hour_ms, day_ms, -day_ms, day_ms + 1, -day_ms - 1),
  /** It has no time of its own, and the clock of its client says that it was sent before `now_ms`. */
  untimed: fc.constantFrom(false, false, false, true),
  /** Place among the events of all installs: late ones are sent after others. */
  place: fc.nat(9),
  /** 0: it is sent again. Otherwise another event follows so many ms after it: often in the next window, on the same day. */
  again_ms: fc.constantFrom(null, null, 0, 2, -2),
})

/** Labels of clicks; pools are small, so that rows meet. */
const labels = {
  campaign: fc.constantFrom('', 'spring', 'Spring', 'ü'),
  ad_group: fc.constantFrom('', 'g'),
  creative: fc.constantFrom('', 'c'),
  link_id: fc.constantFrom('', 'l1', 'l2'),
  sub1: fc.constantFrom('', 's'),
  sub5: fc.constantFrom('', 't'),
}
const country = fc.constantFrom('', 'DE', 'FR')
const partner = fc.constantFrom('acme', 'acme_2', 'zen')

/** Clicks on the days of installs; one may come twice. */
const click: fc.Arbitrary<ClickRow> = fc
  .record({
    at: installedAt,
    n: fc.nat(99),
    partner,
    ...labels,
    country,
    filtered: fc.constantFrom(false, false, true),
  })
  .map(({ at, n, ...rest }) => {
    const hex = at.toString(16).padStart(12, '0')
    const click_id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(n).padStart(12, '0')}`
    return { app: 0, clicked_at_ms: at, click_id, ...rest }
  })

const cost: fc.Arbitrary<CostUpload> = fc.record({
  app: fc.constant(0),
  day: fc.nat(4).map((n) => dayOf(first_ms + n * day_ms)),
  partner,
  campaign: labels.campaign,
  ad_group: labels.ad_group,
  country,
  cost: fc.constantFrom(0, 1, 12.345678, 0.000001, 999_999_999.999999),
  currency: fc.constantFrom('USD', 'EUR', 'GBP', 'XXX'),
  as_of_ms: fc.nat(2),
})

const decision = fc.record({
  ...labels,
  country,
  partner: fc.constantFrom(organic, 'acme', 'acme_2', 'zen'),
  method: fc.constantFrom(...methods),
  reinstall: fc.constantFrom(false, false, true),
  flagged: fc.boolean(),
  pending: fc.constantFrom(false, false, false, true),
  moved_ms: fc.constantFrom(0, 0, 0, 1, day_ms),
  place: fc.nat(9),
})

/** One install: it may have events and no verdict, or the other way round. */
const install = fc.record({
  install_uuid: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  installed_at_ms: installedAt,
  events: fc.array(event, { maxLength: 7, size: 'medium' }),
  decisions: fc.array(decision, { maxLength: 4, size: 'medium' }),
})
type Install = typeof install extends fc.Arbitrary<infer Value> ? Value : never

/** Everything that the reports of one app depend on, at random. It shrinks to few installs with few events. */
export const randomHistory: fc.Arbitrary<History> = fc
  .uniqueArray(install, {
    minLength: 1,
    maxLength: 5,
    size: 'medium',
    selector: ({ install_uuid }) => install_uuid,
  })
  .chain((installs) =>
    fc.record({
      events: fc.constant(byPlace(installs.flatMap(eventsOf))),
      decisions: fc.constant(byPlace(installs.flatMap(decisionsOf))),
      clicks: fc.array(click, { maxLength: 6 }).map((clicks) => [...clicks, ...clicks.slice(0, 1)]),
      costs: fc.array(cost, { maxLength: 6 }),
    }),
  )

const byPlace = <Item>(items: readonly (readonly [place: number, item: Item])[]): Item[] =>
  items.toSorted(([a], [b]) => a - b).map(([, item]) => item)

const eventsOf = ({ install_uuid, installed_at_ms, events }: Install): [number, SentEvent][] =>
  events.flatMap(({ at, place, again_ms, received_after_ms, received_in_ms, skew_ms, untimed, ...sent }) => {
    const last_ms = now_ms + received_in_ms
    const told_ms = at(installed_at_ms)
    const times = untimed
      ? { event_ts_ms: last_ms, received_at_ms: last_ms, untimed, sent_at_ms: now_ms - 10 }
      : {
          event_ts_ms: told_ms,
          received_at_ms: received_after_ms === null ? last_ms : told_ms + received_after_ms,
          skew_ms,
        }
    const event: SentEvent = {
      ...{ app: 0, install_uuid, partition: install_uuid.charCodeAt(0) % partitions, ...sent },
      ...times,
    }
    if (again_ms === null) return [[place, event]]
    const moved_ms = untimed ? 0 : again_ms
    const other = { event_id: `${event.event_id}x`, event_ts_ms: event.event_ts_ms + moved_ms }
    return [
      [place, event],
      [place + 5, { ...event, ...(again_ms !== 0 && other) }],
    ]
  })

const decisionsOf = ({ install_uuid, installed_at_ms, decisions }: Install): [number, DecidedInstall][] =>
  decisions.map(({ place, moved_ms, method, partner, pending, reinstall, flagged, country, ...clicked }) => [
    place,
    {
      ...{ app: 0, install_uuid, installed_at_ms: installed_at_ms + moved_ms, pending },
      partner: pending ? '' : partner,
      attribution_type: pending ? '' : partner === organic ? organic : method,
      ...{ reinstall: reinstall && !pending, flagged: flagged && !pending, country },
      ...(partner !== organic && clicked),
    },
  ])

/** Rates of EUR and GBP from some days on; XXX never has one. */
export const randomRates: fc.Arbitrary<Rate[]> = fc.uniqueArray(
  fc.record({
    currency: fc.constantFrom('EUR', 'GBP'),
    day: fc.constantFrom(-1, 1, 3, 8, 30).map((n) => dayOf(first_ms + n * day_ms)),
    usd_e5: fc.integer({ min: 80_000, max: 160_000 }),
    units_e5: fc.constantFrom(100_000, 16_235_000, 87_654, 300_000),
  }),
  { maxLength: 5, selector: ({ currency, day }) => `${currency} ${day}` },
)
