import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { openTombstones } from '@tributary/erasure/tombstones'
import type { Pause } from '@tributary/service-kit/service/pauses'
import { daysBetween } from '@tributary/tables/settled/days'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import { type ReconcilerDeps, sleepOf } from './deps.ts'
import { deadNames } from './look/dead-names.ts'
import { findActive } from './look/find-active.ts'
import { type Difference, nameOf } from './look/findings.ts'
import { lookAtApp, lookAtCommon, type Scope } from './look/look.ts'
import { type Look, lookTwice, untilAllWritten } from './look/look-twice.ts'
import { replaceDifferences } from './stored-differences.ts'

/** Whole UTC days, of one app or of all. */
export interface AskedRange {
  /** In the first day, Unix epoch ms. */
  since_ms: number
  /** In the last day; up to now when absent. */
  until_ms?: number
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
  differences: Difference[]
}

/** Days that are looked at together: bounds what is in memory. */
const days_together = 7
/** More than the time for which an object gathers requests. */
const group_ms_max = 60_000

/**
 * Compares everything that was received since a day, up to now, and keeps the differences in place of those that were known. It takes what
 * it needs: whoever asks waits for it.
 */
export async function reconcileRange(
  deps: ReconcilerDeps,
  { since_ms, until_ms, app_id }: AskedRange,
  work: RangeWork,
): Promise<Reconciled> {
  const { pool, now, broker, clickhouse, audit } = deps
  const { signal, reached } = work
  const all = await listAppFacts(pool)
  const apps = app_id === undefined ? all : new Map([...all].filter(([id]) => id === app_id))
  const now_ms = now()
  reached('waiting until the writers have written what is in the log')
  await untilAllWritten(broker, signal)
  const sleep = sleepOf(deps)
  const lookDeps = {
    ...{ clickhouse, audit, tombstones: openTombstones(deps), pause: work.pause, dead: deadNames(broker), now },
    sleep: (ms: number) => sleep(ms, signal),
  }
  const first_day = await firstDay(deps, utcDay(since_ms))
  // A clock may be ahead: what it dated tomorrow is there already.
  const days = daysBetween(first_day, utcDay(until_ms === undefined ? now_ms + 2 * day_ms : until_ms + day_ms))
  const hours = new Set<string>()
  const found = new Map<string, Difference>()
  for (let at = 0; at < days.length; at += days_together) {
    const some = days.slice(at, at + days_together)
    const from_ms = Date.parse(some[0]!)
    // A group of requests that begins before midnight lies under the day before; an event may have been received a day after it.
    const with_before = [utcDay(from_ms - day_ms), ...some]
    const with_next = [...some, utcDay(Date.parse(some.at(-1)!) + day_ms)]
    const chosenFrom_ms = from_ms - group_ms_max
    const scope: Scope = {
      since_ms: from_ms,
      until_ms: Date.parse(some.at(-1)!) + day_ms,
      choose: (objects) => objects.filter(({ received_at_ms }) => (received_at_ms ?? from_ms) >= chosenFrom_ms),
      isDue: () => true,
    }
    const active = await findActive(lookDeps, { apps, days: with_before, table_days: with_before })
    const looks: Look[] = active.map((one) => (suspects) => {
      reached(`${some[0]} to ${some.at(-1)}: ${one.app.app_id}`)
      return lookAtApp(lookDeps, scope, one, suspects)
    })
    // A batch of clicks lies under the day on which the log took it.
    const common = { days: with_next, apps, with_postbacks: app_id === undefined, now_ms }
    looks.push((suspects) => lookAtCommon(lookDeps, scope, common, suspects))
    const looked = await lookTwice({ broker, sleep }, looks, signal)
    for (const hour of looked.hours) hours.add(hour)
    for (const one of looked.differences) found.set(nameOf(one), one)
  }
  const differences = [...found.values()]
  const range = { app_id, since_ms: Date.parse(days[0]!), until_ms: Date.parse(days.at(-1)!) + day_ms }
  await replaceDifferences(pool, range, differences, now())
  return { hours: hours.size, differences }
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
