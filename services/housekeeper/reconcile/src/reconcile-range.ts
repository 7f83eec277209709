import { audit_group_ms_max } from '@tributary/audited/reading'
import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'
import { daysBetween } from '@tributary/tables/settled/days'
import { type AppFacts, listAppFacts } from '@tributary/tenancy/companies/tenants'
import { openStores, type ReconcilerDeps, sleepOf } from './deps.ts'
import { findActive } from './look/find-active.ts'
import type { Difference, Looked } from './look/findings.ts'
import { lookAtApp, lookAtCommon, type Scope } from './look/look.ts'
import type { StoreDeps } from './look/look-deps.ts'
import { type Look, lookTwice, untilAllWritten } from './look/look-twice.ts'
import { replaceDifferences } from './stored-differences.ts'

/** Whole UTC days, of one app or of all. */
export interface AskedRange {
  /** In the first day, Unix epoch ms. */
  since_ms: number
  /** In the last day; up to now when absent. */
  until_ms?: number
  /** Empty: what is no app's, and clicks. */
  app_id?: string | undefined
}

interface RangeWork {
  pause: Pause
  signal: AbortSignal
  /** Called with how far it has come. */
  reached(words: string): void
}

export interface Reconciled {
  /** Hours of apps that had something to compare. */
  hours: number
  /** By hour; none of them is left out. */
  differences: Difference[]
}

/** Days that are looked at together: bounds what is in memory. */
const days_together = 7

/** What a comparison has at hand. */
interface Ranged extends Pick<RangeWork, 'reached' | 'signal'> {
  stores: StoreDeps
  /** All, or the one that is asked for. */
  apps: ReadonlyMap<string, AppFacts>
  app_id: string | undefined
  /** What came later is left to the next comparison, Unix epoch ms. */
  until_ms: number
}

/**
 * Compares everything that was received since a day, up to a minute ago, and keeps the differences in place of those that were known. It
 * takes what it needs: whoever asks waits for it.
 */
export async function reconcileRange(
  deps: ReconcilerDeps,
  { since_ms, until_ms, app_id }: AskedRange,
  { pause, signal, reached }: RangeWork,
): Promise<Reconciled> {
  const { pool, now, broker } = deps
  const all = await listAppFacts(pool)
  const began_ms = now()
  reached('waiting until the writers have written what is in the log')
  await untilAllWritten(broker, signal)
  const ranged: Ranged = {
    ...{ reached, signal, app_id, stores: openStores(deps, pause, signal) },
    apps: app_id ? new Map([...all].filter(([id]) => id === app_id)) : all,
    until_ms: began_ms - limits.reconcile_young_ms,
  }
  const first_day = await firstDay(deps, utcDay(since_ms))
  // A clock may be ahead: what it dated tomorrow has sums already.
  const days = daysBetween(first_day, utcDay(until_ms === undefined ? began_ms + 2 * day_ms : until_ms + day_ms))
  if (days.length === 0) return { hours: 0, differences: [] }
  const hours = new Set<string>()
  const differences: Difference[] = []
  for (let at = 0; at < days.length; at += days_together) {
    const looked = await compareDays(deps, ranged, days.slice(at, at + days_together))
    for (const hour of looked.hours) hours.add(hour)
    differences.push(...looked.differences)
  }
  const range = { app_id, began_ms, since_ms: Date.parse(days[0]!), until_ms: Date.parse(days.at(-1)!) + day_ms }
  const sorted = differences.toSorted((one, other) => one.hour_ms - other.hour_ms)
  await replaceDifferences(pool, range, sorted, now())
  return { hours: hours.size, differences: sorted }
}

/** Compares some days in a row. */
async function compareDays(deps: ReconcilerDeps, ranged: Ranged, days: readonly string[]): Promise<Looked> {
  const { stores, apps, app_id, reached, signal } = ranged
  const from_ms = Date.parse(days[0]!)
  const to_ms = Date.parse(days.at(-1)!) + day_ms
  // A group of requests that begins before midnight lies under the day before; an event may have been received a day after it.
  const with_before = [utcDay(from_ms - day_ms), ...days]
  const first_ms = from_ms - audit_group_ms_max
  const scope: Scope = {
    since_ms: from_ms,
    until_ms: Math.min(to_ms, ranged.until_ms),
    count: null,
    leave() {},
    choose: (objects) => objects.filter(({ received_at_ms }) => (received_at_ms ?? from_ms) >= first_ms),
    isDue: () => true,
  }
  const active = app_id === '' ? [] : await findActive(stores, { apps, days: with_before, table_days: with_before })
  const looks: Look[] = active.map((one) => (suspects) => {
    reached(`${days[0]} to ${days.at(-1)}: ${one.app.app_id}`)
    return lookAtApp(stores, scope, one, suspects)
  })
  // A batch of clicks lies under the day on which the log took it.
  const with_next = [...days, utcDay(to_ms)]
  const common = { days: with_next, apps, with_postbacks: !app_id, now_ms: deps.now() }
  looks.push((suspects) => lookAtCommon(stores, scope, common, suspects))
  const looked = await lookTwice({ broker: deps.broker, sleep: sleepOf(deps) }, looks, signal)
  // Those of the neighbouring days are counted in full where these are compared.
  return { ...looked, differences: looked.differences.filter(({ hour_ms }) => hour_ms >= from_ms && hour_ms < to_ms) }
}

/** The first day with events at or after a day: nobody compares the decades before. */
async function firstDay({ clickhouse, now }: ReconcilerDeps, day: string): Promise<string> {
  if (Date.parse(day) >= now() - 366 * day_ms) return day
  const [row] = await clickhouse.query<{ first: string }>(
    `SELECT toString(min(received_day)) AS first FROM events_received_per_day_v1 WHERE received_day >= {day:Date}`,
    { day },
  )
  const first = row?.first ?? ''
  return first > day ? first : day
}

/** When the range begins that is compared when nobody says since when. */
export const sinceOrLastDay = (since_ms: number | undefined, now_ms: number): number =>
  since_ms ?? now_ms - limits.reconcile_since_ms
