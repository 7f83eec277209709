import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { installKeyDay } from '@tributary/domain/event-key'
import { utcDay } from '@tributary/domain/utc-day'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { ActiveApp } from './find-active.ts'
import { type Difference, type Looked, merged, tallied } from './findings.ts'
import type { NamedObject } from './list-objects.ts'
import { lookAtClicks } from './look-at-clicks.ts'
import { lookAtPostbacks } from './look-at-postbacks.ts'
import { type Chosen, type Keys, lookAtRequests } from './look-at-requests.ts'
import { lookForObjects, type Received } from './look-at-rows.ts'
import { findExpired, lookAtTables } from './look-at-tables.ts'
import type { LookDeps, StoreDeps } from './look-deps.ts'
import type { Suspects } from './suspects.ts'

/** What is looked at of an app, or of what is no app's. */
export interface Scope extends Chosen {
  /** Called with the objects of SDKs of a day before some of them are chosen, where that depends on it. */
  count: ((objects: readonly NamedObject[]) => void) | null
  /** Whether rows that were received in this hour are looked at. */
  isDue(hour_ms: number): boolean
}

/** The scope of one of two looks. */
function scopeOf(scope: Scope, { hours, isChosen }: Suspects): Scope {
  if (hours === null) return scope
  const again = { choose: (objects: readonly NamedObject[]) => objects.filter(isChosen), count: null }
  return { ...scope, ...again, isDue: (at_ms) => hours.has(at_ms) }
}

/** The days of suspected hours, and their neighbours: a group or a batch lies under the day on which it began. */
function daysOf({ hours }: Suspects): (day: string) => boolean {
  if (hours === null) return () => true
  const days = new Set([...hours].flatMap((at_ms) => [at_ms - day_ms, at_ms, at_ms + day_ms].map(utcDay)))
  return (day) => days.has(day)
}

/** Looks at everything of an app; the second time only at what is suspected, and at all of its tables. */
export async function lookAtApp(
  stores: StoreDeps,
  given: Scope,
  { app, received, table_days, settled_days }: ActiveApp,
  suspects: Suspects,
): Promise<Looked> {
  const { app_id } = app
  const deps: LookDeps = { ...stores, suspects }
  const scope = scopeOf(given, suspects)
  const all: Looked = { differences: [], hours: new Set() }
  const add = (found: Difference[]) => all.differences.push(...found)
  const received_days = table_days.length === 0 ? [] : [...new Set([...received, ...table_days])]
  const ofTables = { app, days: table_days, settled_days, received_days }
  const { differences, rowless, rowless_days } = await lookAtTables(deps, ofTables)
  add(differences)
  // Only the audit store shows when an event without a row was received: on its day, or on the next.
  const whole = new Set(rowless_days.flatMap((day) => [day, utcDay(Date.parse(day) + day_ms)]))
  const expired = (await findExpired(deps.clickhouse, app_id)) ?? ''
  const keys: Keys = { rowless, met: new Set(), unlogged: new Set() }
  for (const day of [...new Set([...received.filter(daysOf(suspects)), ...whole])].toSorted()) {
    const is_whole = whole.has(day)
    const choose = is_whole ? (objects: readonly NamedObject[]) => objects : scope.choose
    const chosen = { ...scope, is_whole, choose, ranges: () => dueRanges(scope, app_id, day) }
    const { named, ...looked } = await lookAtRequests(deps, { app, day }, chosen, keys)
    add(looked.differences)
    for (const hour of looked.hours) all.hours.add(hour)
    // Retention deletes objects by their day, and rows by the day of their event, which may be the next.
    if (day >= expired) add(await lookForObjects(deps, app_id, named))
  }
  add(unmet(deps, app_id, keys, rowless_days))
  return { ...all, differences: merged(all.differences) }
}

/** Keys without a row whose event the audit store does not have either. The key of an install has no day. */
function unmet(
  { suspects }: LookDeps,
  app_id: string,
  { rowless, met }: Keys,
  [first_day = '']: readonly string[],
): Difference[] {
  const rows = tallied(app_id, 'events_raw_v1', suspects)
  for (const [name, place] of rowless) {
    if (met.has(name)) continue
    const [, key_day, event_key] = name.split('/')
    const at_ms = Date.parse(key_day === undefined || key_day === installKeyDay ? first_day : key_day)
    const example = `an event with the key ${event_key} of ${place}, which no audit object has`
    rows.expect(at_ms)
    rows.miss(at_ms, { example, name })
  }
  return rows.differences()
}

/** The hours of a day whose rows are looked at, those in a row as one. */
function dueRanges({ since_ms, until_ms, isDue }: Scope, app_id: string, day: string): Received[] {
  const ranges: Received[] = []
  const begin_ms = Date.parse(day)
  for (let at_ms = begin_ms; at_ms < begin_ms + day_ms; at_ms += hour_ms) {
    const [from, to] = [Math.max(at_ms, since_ms), Math.min(at_ms + hour_ms, until_ms)]
    if (from >= to || !isDue(at_ms)) continue
    const last = ranges.at(-1)
    if (last?.until_ms === from) last.until_ms = to
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
  stores: StoreDeps,
  given: Scope,
  { days, apps, with_postbacks, now_ms }: Common,
  suspects: Suspects,
): Promise<Looked> {
  const deps: LookDeps = { ...stores, suspects }
  const scope = scopeOf(given, suspects)
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
