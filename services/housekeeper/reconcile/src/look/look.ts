import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { installKeyDay } from '@tributary/domain/event-key'
import { utcDay } from '@tributary/domain/utc-day'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { ActiveApp } from './find-active.ts'
import { type Difference, type Looked, merged, tallied } from './findings.ts'
import { lookAtClicks } from './look-at-clicks.ts'
import { lookAtPostbacks } from './look-at-postbacks.ts'
import { type Chosen, lookAtRequests, type NamedObject, type Rowless } from './look-at-requests.ts'
import { lookAtDoubledRows, lookForObjects, type Received } from './look-at-rows.ts'
import { findExpired, lookAtTables } from './look-at-tables.ts'
import type { LookDeps } from './look-deps.ts'

/** What is looked at of an app, or of what is no app's. Times are Unix epoch ms. */
export interface Scope {
  since_ms: number
  /** Exclusive. */
  until_ms: number
  /** Chooses from the objects of a folder. */
  choose(objects: readonly NamedObject[]): readonly NamedObject[]
  /** Whether rows that were received in this hour are looked at. */
  isDue(hour_ms: number): boolean
}

/** Hours in which a look has found something. */
export type Suspects = ReadonlySet<number>

/** The scope of a second look. */
const again = (scope: Scope, suspects: Suspects | null): Scope =>
  suspects === null ? scope : { ...scope, choose: (objects) => objects, isDue: (at_ms) => suspects.has(at_ms) }

/** The days of those hours, and their neighbours: a group or a batch lies under the day on which it began. */
function daysOf(suspects: Suspects | null): (day: string) => boolean {
  if (suspects === null) return () => true
  const days = new Set([...suspects].flatMap((at_ms) => [at_ms - day_ms, at_ms, at_ms + day_ms].map(utcDay)))
  return (day) => days.has(day)
}

/** Looks at everything of an app; with `suspects` only at these hours, and at all of its tables. */
export async function lookAtApp(
  deps: LookDeps,
  given: Scope,
  { app, received, table_days, settled_days }: ActiveApp,
  suspects: Suspects | null,
): Promise<Looked> {
  const { app_id } = app
  const scope = again(given, suspects)
  const all: Looked = { differences: [], hours: new Set() }
  const add = (found: Difference[]) => all.differences.push(...found)
  const { differences, rowless, rowless_days } = await lookAtTables(deps, { app, days: table_days, settled_days })
  add(differences)
  // Only the audit store shows when an event without a row was received: on its day, or on the next.
  const whole = new Set(rowless_days.flatMap((day) => [day, utcDay(Date.parse(day) + day_ms)]))
  const isSuspect = daysOf(suspects)
  const expired = (await findExpired(deps.clickhouse, app_id)) ?? ''
  let before: ReadonlySet<string> = new Set()
  for (const day of [...new Set([...[...received.keys()].filter(isSuspect), ...whole])].toSorted()) {
    const chosen: Chosen = whole.has(day) ? { since_ms: 0, choose: (objects) => objects } : scope
    const ranges = () => dueRanges(scope, app_id, day, received.get(day) ?? 0)
    const { keys, named, ...looked } = await lookAtRequests(deps, { app, day }, { ...chosen, ranges }, rowless)
    add(looked.differences)
    for (const hour of looked.hours) all.hours.add(hour)
    for (const range of ranges()) add(await lookAtDoubledRows(deps, range))
    // Retention deletes objects by their day, and rows by the day of their event, which may be the next. A group of requests that begins
    // before midnight lies under the day before.
    if (day >= expired) add(await lookForObjects(deps, app_id, named, new Set([...before, ...keys])))
    before = keys
  }
  add(unmet(app_id, rowless, rowless_days))
  return { ...all, differences: merged(all.differences) }
}

/** Keys without a row whose event the audit store does not have either. The key of an install has no day. */
function unmet(app_id: string, rowless: Rowless, [first_day = '']: readonly string[]): Difference[] {
  const rows = tallied(app_id, 'events_raw_v1')
  for (const [name, place] of rowless) {
    const [, key_day, event_key] = name.split('/')
    const at_ms = Date.parse(key_day === undefined || key_day === installKeyDay ? first_day : key_day)
    rows.expect(at_ms)
    rows.miss(at_ms, `an event with the key ${event_key} of ${place}, which no audit object has`)
  }
  return rows.differences()
}

/** Rows that were received in the hours of one statement: bounds its time. Each reads all rows of the day, or a few columns of them. */
const rows_together = 5_000_000

/** The hours of a day whose rows are looked at, several in a row as one where the day has few rows. */
function dueRanges({ since_ms, until_ms, isDue }: Scope, app_id: string, day: string, rows: number): Received[] {
  const ranges: Received[] = []
  const together_ms = Math.max(hour_ms, (rows_together / Math.max(rows, 1)) * day_ms)
  const begin_ms = Date.parse(day)
  for (let at_ms = begin_ms; at_ms < begin_ms + day_ms; at_ms += hour_ms) {
    const [from, to] = [Math.max(at_ms, since_ms), Math.min(at_ms + hour_ms, until_ms)]
    if (from >= to || !isDue(at_ms)) continue
    const last = ranges.at(-1)
    if (last?.until_ms === from && to - last.since_ms <= together_ms) last.until_ms = to
    else ranges.push({ app_id, since_ms: from, until_ms: to })
  }
  return ranges
}

interface Common {
  /** UTC days. */
  days: readonly string[]
  /** Apps whose clicks are compared. */
  apps: ReadonlyMap<string, AppFacts>
  /** Postbacks name no app. */
  with_postbacks: boolean
  now_ms: number
}

/** Looks at clicks and postbacks: their objects are of all apps. Older ones than retention keeps are left out. */
export async function lookAtCommon(
  deps: LookDeps,
  given: Scope,
  { days, apps, with_postbacks, now_ms }: Common,
  suspects: Suspects | null,
): Promise<Looked> {
  const scope = again(given, suspects)
  const kept = days.filter(daysOf(suspects))
  const since = (kept_ms: number) => Math.max(scope.since_ms, now_ms - kept_ms)
  const clicks_ms = since(limits.click_kept_ms - day_ms)
  const clicks = await lookAtClicks(deps, { ...scope, since_ms: clicks_ms, days: new Set(kept), apps })
  if (!with_postbacks) return clicks
  const postbacks_ms = since((limits.postback_unproven_days_max - 1) * day_ms)
  const postback_days = new Set(kept.filter((day) => day >= utcDay(postbacks_ms)))
  const postbacks = await lookAtPostbacks(deps, { ...scope, since_ms: postbacks_ms, days: postback_days })
  return {
    differences: [...clicks.differences, ...postbacks.differences],
    hours: new Set([...clicks.hours, ...postbacks.hours]),
  }
}
