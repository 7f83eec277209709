import type { Envelope } from '@tributary/contracts/envelope'
import fc from 'fast-check'

const day_ms = 24 * 3600 * 1000
/** Two days before a new year, so that batches cross the table's partitions too. */
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

export interface CountedEvent extends ReceivedEvent {
  install: string
  day: number
  partition: number
  offset: number
  received_at_ms: number
  source: Envelope['source']
  /** 0 when the record does not say when it was sent. */
  skew_ms: number
}

/** Which events count by the words of docs/rules.md#idempotency: one by one, without keys, batches or tables. */
export function countedEvents(
  log: readonly { partition: number; offset: number; envelope: Envelope }[],
): CountedEvent[] {
  const counted: CountedEvent[] = []
  for (const { partition, offset, envelope } of log) {
    for (const event of envelope.events as ReceivedEvent[]) {
      const day = Math.floor(event.event_ts_ms / day_ms)
      const { install_uuid: install, received_at_ms, sent_at_ms = received_at_ms, source } = envelope
      const skew_ms = received_at_ms - sent_at_ms
      const candidate = { ...event, install, day, partition, offset, received_at_ms, source, skew_ms }
      if (!counted.some((other) => areOne(other, candidate))) counted.push(candidate)
    }
  }
  return counted
}

function areOne(a: CountedEvent, b: CountedEvent): boolean {
  if (a.install !== b.install || isInstall(a) !== isInstall(b)) return false
  return isInstall(a) || (a.event_id === b.event_id && Math.abs(a.day - b.day) <= 1)
}

const isInstall = ({ event_name, props }: ReceivedEvent): boolean =>
  event_name === 'app_install' && (props as Record<string, unknown> | null)?.identity_migration !== true

/** docs/rules.md#age-of-an-event */
function correctedTime({ source, event_ts_ms, received_at_ms, skew_ms }: CountedEvent): number {
  if (source !== 'sdk') return event_ts_ms
  return Math.min(received_at_ms, event_ts_ms + (Math.abs(skew_ms) <= day_ms ? skew_ms : 0))
}

/**
 * Whose money stands in `revenue_raw_v1`, and which of it is cancelled. Of the events with one transaction the best
 * counts: a backend's before an SDK's, then the one received first, then the one first in the log. An event that one
 * before it in its partition beats never had money; all others that are beaten are cancelled.
 */
export function countedMoney(events: readonly CountedEvent[]) {
  const paid = events.filter(({ revenue }) => typeof revenue === 'number')
  const same = (a: CountedEvent, b: CountedEvent) =>
    Boolean(a.transaction_id) && a.transaction_id === b.transaction_id && a.event_name === b.event_name
  const position = (a: CountedEvent, b: CountedEvent) =>
    a.partition - b.partition || a.offset - b.offset || paid.indexOf(a) - paid.indexOf(b)
  const isBeatenBy = (event: CountedEvent, other: CountedEvent) => {
    const rank = Number(other.source !== 'sdk') - Number(event.source !== 'sdk')
    const later_ms = event.received_at_ms - other.received_at_ms
    return same(event, other) && (rank || later_ms || position(event, other)) > 0
  }
  const isBefore = (a: CountedEvent, b: CountedEvent) => a.partition === b.partition && position(a, b) < 0
  const gross = paid.filter((event) => !paid.some((other) => isBefore(other, event) && isBeatenBy(event, other)))
  return { gross, cancelled: gross.filter((event) => paid.some((other) => isBeatenBy(event, other))) }
}

/** What every table must hold for these events. */
export function modelTables(events: readonly CountedEvent[]) {
  const { gross, cancelled } = countedMoney(events)
  const identities = new Map<string, number>()
  for (const { install, user_id, event_ts_ms } of events.filter(({ user_id }) => Boolean(user_id))) {
    const key = `${install} ${user_id}`
    identities.set(key, Math.min(event_ts_ms, identities.get(key) ?? Number.POSITIVE_INFINITY))
  }
  const rows = (lines: string[]) => lines.toSorted()
  const sums = new Map<string, { events: number; micros: number; installs: Set<string> }>()
  const activity = new Map<string, { min: number; max: number }>()
  for (const event of events) {
    const name = `${event.day} ${event.event_name}`
    const { micros, currency } = moneyOf(event)
    const money = { micros: gross.includes(event) ? micros : 0, currency }
    for (const key of [name, `${name} ${money.currency}`]) {
      const sum = sums.get(key) ?? { events: 0, micros: 0, installs: new Set() }
      sums.set(key, {
        events: sum.events + 1,
        micros: sum.micros + money.micros,
        installs: sum.installs.add(event.install),
      })
    }
    const ms = correctedTime(event)
    const active = `${event.install} ${event.day} ${Math.floor(ms / day_ms)}`
    const { min, max } = activity.get(active) ?? { min: ms, max: ms }
    activity.set(active, { min: Math.min(min, ms), max: Math.max(max, ms) })
  }
  const byCurrency = [...sums].filter(([key]) => key.split(' ').length === 3)
  const byName = [...sums].filter(([key]) => key.split(' ').length === 2)
  return {
    raw: rows(
      events.map((e) => `${e.install} ${e.event_id} ${e.event_name} ${e.event_ts_ms} ${e.partition}:${e.offset}`),
    ),
    keys: rows(events.map((e) => `${isInstall(e) ? 0 : e.day} ${e.partition}:${e.offset}`)),
    per_day: rows(byCurrency.map(([key, { events, micros }]) => `${key} ${events} ${micros}`)),
    installs_per_day: rows(byName.map(([key, { installs }]) => `${key} ${installs.size}`)),
    revenue: rows(gross.map(moneyLine)),
    cancelled: rows(cancelled.map(moneyLine)),
    transactions: rows(
      gross.filter(({ transaction_id }) => transaction_id).map((e) => `${e.day} ${e.partition}:${e.offset}`),
    ),
    identities: rows([...identities].map(([key, since_ms]) => `${key} ${since_ms}`)),
    activity: rows([...activity].map(([key, { min, max }]) => `${key} ${min} ${max}`)),
  }
}

function moneyLine(event: CountedEvent) {
  const { micros, currency } = moneyOf(event)
  return `${event.install} ${event.event_ts_ms} ${event.event_name} ${currency} ${micros} ${event.partition}:${event.offset}`
}

function moneyOf({ event_name, revenue, currency }: ReceivedEvent) {
  if (typeof revenue !== 'number') return { micros: 0, currency: '-' }
  const micros = Math.round(revenue * 1e6)
  return { micros: event_name === 'purchase_refunded' ? -micros : micros, currency: currency === null ? 'USD' : 'EUR' }
}

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
