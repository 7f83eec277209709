import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import * as counted from '@tributary/testing/oracle/counted'
import { correctedTime, type SentEvent } from '@tributary/testing/oracle/history'
import fc from 'fast-check'

/** Two days before a new year: counters count by year. */
const first_ms = Date.UTC(2025, 11, 30)

export type ReceivedEvent = Envelope['events'][number] & { event_name: string; event_id: string; event_ts_ms: number }

/** An event out of pools so small that keys meet: on the same day, on neighbouring days, in chains. */
const event: fc.Arbitrary<ReceivedEvent> = fc.record({
  event_id: fc.constantFrom('1', '2', '3'),
  event_name: fc.constantFrom('level_up', 'level_up', 'purchase', 'purchase_refunded', 'app_install'),
  event_ts_ms: fc
    .tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: day_ms - 1 }))
    .map(([day, ms]) => first_ms + day * day_ms + ms),
  revenue: fc.constantFrom(null, 4.99, 0.1),
  currency: fc.constantFrom(null, 'eur'),
  transaction_id: fc.constantFrom(null, '', 't1', 't1', 't2'),
  user_id: fc.constantFrom(null, '', 'u1', 'u2'),
  props: fc.constantFrom(null, { identity_migration: true }, { level: 3 }),
})

/** Events of one install, as one log record; gateways' clocks differ, so records need not be in the order of receipt. */
export const received = fc.record({
  install: fc.integer({ min: 0, max: 2 }),
  source: fc.constantFrom('sdk' as const, 'sdk' as const, 's2s' as const, 'bulk' as const),
  received_ago_ms: fc.constantFrom(0, 0, 5, 1000),
  /** How much the clock of an SDK was slow. */
  skew_ms: fc.constantFrom(0, 1, -3_600_000, day_ms, -day_ms, day_ms + 1),
  events: fc.array(event, { minLength: 1, maxLength: 4 }),
})

/** An event of a record of the log. */
export interface LoggedEvent extends SentEvent {
  /** Its place among all events of the log; copies are known by it. */
  index: number
  offset: number
  user_id: unknown
}

/** The events of a log that count. */
export const countedEvents = (
  log: readonly { partition: number; offset: number; envelope: Envelope }[],
): LoggedEvent[] => counted.countedEvents(log.flatMap(loggedEvents).map((event, index) => ({ ...event, index })))

const loggedEvents = ({ partition, offset, envelope }: { partition: number; offset: number; envelope: Envelope }) =>
  (envelope.events as ReceivedEvent[]).map((event): Omit<LoggedEvent, 'index'> => {
    const { install_uuid, received_at_ms, sent_at_ms = received_at_ms, source } = envelope
    const { event_id, event_name, event_ts_ms, revenue, currency, transaction_id, user_id, props } = event
    return {
      ...{ app: 0, install_uuid, partition, offset, source, received_at_ms, skew_ms: received_at_ms - sent_at_ms },
      ...{ event_id, event_name, event_ts_ms, user_id },
      revenue: typeof revenue === 'number' ? revenue : null,
      currency: currency as string | null,
      transaction_id: transaction_id as string | null,
      ...((props as Record<string, unknown> | null)?.identity_migration === true && { identity_migration: true }),
    }
  })

/**
 * Whose money stands in `revenue_raw_v1`, and which of it is cancelled: an event that one before it in its partition beats
 * never had money; all others that are beaten are cancelled.
 */
export function countedMoney(events: readonly LoggedEvent[]) {
  const upTo = ({ partition }: LoggedEvent, n: number) =>
    events.slice(0, n + 1).filter((one) => one.partition === partition)
  const gross = events.flatMap((event, n) =>
    counted.countedMoney(upTo(event, n)).filter(({ index }) => index === event.index),
  )
  const best = new Set(counted.countedMoney(events).map(({ index }) => index))
  return { gross, cancelled: gross.filter(({ index }) => !best.has(index)) }
}

/** What every table must hold for these events. */
export function modelTables(events: readonly LoggedEvent[]) {
  const { gross, cancelled } = countedMoney(events)
  const identities = new Map<string, number>()
  for (const { install_uuid, user_id, event_ts_ms } of events.filter(({ user_id }) => Boolean(user_id))) {
    const key = `${install_uuid} ${user_id}`
    identities.set(key, Math.min(event_ts_ms, identities.get(key) ?? Number.POSITIVE_INFINITY))
  }
  const rows = (lines: string[]) => lines.toSorted()
  const sums = new Map<string, { events: number; micros: bigint; installs: Set<string> }>()
  const activity = new Map<string, { min: number; max: number }>()
  for (const event of events) {
    const name = `${dayOf(event)} ${event.event_name}`
    const micros = gross.find(({ index }) => index === event.index)?.micros ?? 0n
    const currency = event.revenue === null ? '-' : (event.currency ?? 'USD').toUpperCase()
    for (const key of [name, `${name} ${currency}`]) {
      const sum = sums.get(key) ?? { events: 0, micros: 0n, installs: new Set() }
      sums.set(key, {
        events: sum.events + 1,
        micros: sum.micros + micros,
        installs: sum.installs.add(event.install_uuid),
      })
    }
    const ms = correctedTime(event)
    const active = `${event.install_uuid} ${dayOf(event)} ${Math.floor(ms / day_ms)}`
    const { min, max } = activity.get(active) ?? { min: ms, max: ms }
    activity.set(active, { min: Math.min(min, ms), max: Math.max(max, ms) })
  }
  const byCurrency = [...sums].filter(([key]) => key.split(' ').length === 3)
  const byName = [...sums].filter(([key]) => key.split(' ').length === 2)
  const place = ({ partition, offset }: LoggedEvent) => `${partition}:${offset}`
  return {
    raw: rows(events.map((e) => `${e.install_uuid} ${e.event_id} ${e.event_name} ${e.event_ts_ms} ${place(e)}`)),
    keys: rows(events.map((e) => `${counted.isInstall(e) ? 0 : dayOf(e)} ${place(e)}`)),
    per_day: rows(byCurrency.map(([key, { events, micros }]) => `${key} ${events} ${micros}`)),
    installs_per_day: rows(byName.map(([key, { installs }]) => `${key} ${installs.size}`)),
    revenue: rows(gross.map(moneyLine)),
    cancelled: rows(cancelled.map(moneyLine)),
    transactions: rows(gross.filter((e) => e.transaction_id).map((e) => `${dayOf(e)} ${place(e)}`)),
    identities: rows([...identities].map(([key, since_ms]) => `${key} ${since_ms}`)),
    activity: rows([...activity].map(([key, { min, max }]) => `${key} ${min} ${max}`)),
  }
}

const dayOf = ({ event_ts_ms }: LoggedEvent): number => Math.floor(event_ts_ms / day_ms)

const moneyLine = (event: LoggedEvent & counted.Money) =>
  `${event.install_uuid} ${event.event_ts_ms} ${event.event_name} ${event.currency} ${event.micros} ${event.partition}:${event.offset}`

const moneyLineSql = `concat(install_uuid, ' ', toString(ts_ms), ' ', event_name, ' ', currency, ' ', toString(amount_micros), ' ', toString(partition), ':', toString(offset))`

/** The same of the real tables. */
export const tableQueries = {
  revenue: `SELECT ${moneyLineSql} AS line FROM revenue_raw_v1 WHERE app_id = {app_id:String}`,
  cancelled: `SELECT ${moneyLineSql} AS line FROM revenue_cancelled_v1 FINAL WHERE app_id = {app_id:String}`,
  transactions: `SELECT concat(toString(toUInt32(day)), ' ', toString(partition), ':', toString(offset)) AS line
    FROM transaction_keys_v1 WHERE app_id = {app_id:String}`,
  identities: `SELECT concat(install_uuid, ' ', user_id, ' ', toString(min(since_ms))) AS line
    FROM identities_v1 WHERE app_id = {app_id:String} GROUP BY install_uuid, user_id`,
  raw: `SELECT concat(install_uuid, ' ', event_id, ' ', event_name, ' ', toString(ts_ms), ' ', toString(partition), ':', toString(offset)) AS line
    FROM events_raw_v1 WHERE app_id = {app_id:String}`,
  keys: `SELECT concat(toString(toUInt32(key_day)), ' ', toString(partition), ':', toString(offset)) AS line
    FROM event_keys_v1 WHERE app_id = {app_id:String}`,
  per_day: `SELECT concat(toString(toUInt32(day)), ' ', event_name, ' ', if(currency = '', '-', currency), ' ', toString(sum(events)), ' ', toString(sum(revenue_micros))) AS line
    FROM events_per_day_v1 WHERE app_id = {app_id:String} GROUP BY day, event_name, currency`,
  installs_per_day: `SELECT concat(toString(toUInt32(day)), ' ', event_name, ' ', toString(uniqExactMerge(installs))) AS line
    FROM event_installs_per_day_v1 WHERE app_id = {app_id:String} GROUP BY day, event_name`,
  activity: `SELECT concat(install_uuid, ' ', toString(toUInt32(day + event_shift)), ' ', toString(toUInt32(day)), ' ', toString(min(min_ts_ms)), ' ', toString(max(max_ts_ms))) AS line
    FROM activity_by_day_v1
    INNER JOIN (SELECT DISTINCT install_uuid, sipHash64(install_uuid) AS install_key FROM events_raw_v1 WHERE app_id = {app_id:String}) AS raw
      USING (install_key)
    WHERE app_id = {app_id:String} GROUP BY install_uuid, day, event_shift`,
} satisfies Record<keyof ReturnType<typeof modelTables>, string>
