import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { mutate } from '@tributary/clickhouse/mutate'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'
import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { findOpenMarks } from '@tributary/erasure/find-open-marks'
import { beginBlanking, findLateDays, removeLateDays } from '@tributary/erasure/late-days'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { afterRunning } from '@tributary/postgres/one-at-a-time'
import { freezeClicks } from '@tributary/tables/attribution/frozen-clicks'
import {
  byAppSql,
  findLackingDays,
  markRawExpired,
  readRawExpired,
  refillSets,
} from '@tributary/tables/events/raw-expired'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { blankAddresses, deleteDays, firstKeptSql } from './act-on-tables.ts'
import { blankObjects, splitLate } from './blank-objects.ts'
import { deleteArchives, deleteNotifications, deletePostbacks, deleteRequests } from './delete-objects.ts'
import { deleteUnproven } from './delete-unproven.ts'
import { firstKept, firstKeptDay, type KeptApp, readKeptApps } from './kept-days.ts'

export interface RetentionDeps {
  pool: Pool
  clickhouse: Clickhouse
  broker: Pick<Broker, 'groupOffsets'>
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  now: () => number
  /** Maximum time that raw events wait for a step of the eraser. */
  wait_ms: number
  /** Resolves after this time, or when the signal fires. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  logger: Logger
}

/** Numbers of a run: rows by table that were blanked or deleted, and audit objects. */
export interface RetentionDone {
  rows: Record<string, number>
  objects_blanked: number
  objects_deleted: number
  /** Raw events of more days are to go once the eraser, which is at work, lets them. */
  raw_waits?: true
}

/** Half-done batches may hold rows received so long before the oldest one that is not written. */
const writing_ms = hour_ms

/**
 * Makes the settings of each company act on all that is stored (docs/privacy.md#retention). Each step may be repeated, and a
 * crash leaves less to do. No further day of raw events goes while the eraser takes a step, which counts what remains of a day in
 * them; with `raw_first` nothing else is done then either, and the result is null.
 */
export async function runRetention(
  deps: RetentionDeps,
  signal: AbortSignal,
  { raw_first = false } = {},
): Promise<RetentionDone | null> {
  const { pool, clickhouse, now, pause, wait_ms } = deps
  const done: RetentionDone = { rows: Object.create(null), objects_blanked: 0, objects_deleted: 0 }
  const onRows = (table: string, rows: number) => {
    if (rows > 0) done.rows[table] = (done.rows[table] ?? 0) + rows
  }
  const at = { clickhouse, signal, onRows, act: mutate }
  const now_ms = now()
  const apps = await readKeptApps(pool)
  const expiring = firstKept(apps, 'keep_raw_days', now_ms).days
  await takeBackMarks(clickhouse, expiring, firstAhead(now_ms))
  if (!(await expireRaw(deps, expiring))) {
    if (raw_first) return null
    done.raw_waits = true
  }
  // 1. Readers know from now on which days are going: reports take whole days, and candidates of these clicks stay.
  await markClicks(deps, apps, now_ms)
  //    And so do writers of audit objects, within the pause: one that comes later under such a day is noted before it is put.
  const noted_before = await beginBlanking(pool, utcDay(now_ms))
  // 2. Addresses, while reports that began before the marks come to their end.
  await blankAddresses(at, firstKept(apps, 'keep_ip_days', now_ms))
  await pause(limits.report_run_ms_max, signal)
  signal.throwIfAborted()
  //    Clicks are counted for ever, days before the engine lets them expire by itself.
  const frozen = firstKeptSql(firstFrozen(apps, now_ms), (day) => `toDate(${textLiteral(day)})`)
  await freezeClicks(clickhouse, frozen, { now_ms, signal })
  // 3. Rows of days. An event whose batch is not finished stays: what its batch lacks is found by its row.
  await deleteDays(at, 'keep_click_days', firstKept(apps, 'keep_click_days', now_ms))
  // What is marked beyond these days was marked by a clock that was ahead, or kept for a shorter time.
  const marked = await readRawExpired(clickhouse)
  const going = [...expiring].map(([app_id, day]): [string, string] => [
    app_id,
    earliest(day, marked.get(app_id) ?? ''),
  ])
  const raw = new Map(going.filter(([, day]) => day !== ''))
  if (raw.size > 0) {
    // An erasure that began meanwhile would take the missing events of a new life for those of the old one.
    const deleted = await afterRunning(pool, raw_events_lock, wait_ms, async (lost) => {
      const expired = { days: await untilOpenErasures(pool, raw), otherwise: null }
      if (expired.days.size === 0) return
      const written_ms = await writtenBefore(deps, consumers.eventWriter, now_ms)
      const held = { ...at, signal: AbortSignal.any([signal, lost]) }
      await deleteDays(held, 'keep_raw_days', expired, `received_at_ms < ${written_ms}`)
    })
    if (deleted === null) done.raw_waits = true
  }
  const unproven_before = await unprovenBefore(deps, now_ms)
  await deleteUnproven(at, unproven_before)
  // 4. Objects, the old ones first: they need no rewriting.
  const objects = new Map(
    apps.flatMap((app): [KeptApp, string][] => (expiring.has(app.app_id) ? [[app, expiring.get(app.app_id)!]] : [])),
  )
  done.objects_deleted += await deleteRequests({ ...deps, signal }, objects)
  done.objects_deleted += await deleteArchives({ ...deps, signal }, firstKeptDay(now_ms, limits.keep_click_days_max))
  done.objects_deleted += await deletePostbacks({ ...deps, signal }, unproven_before)
  const notified_before = firstKeptDay(now_ms, limits.store_notification_days_max)
  done.objects_deleted += await deleteNotifications({ ...deps, signal }, notified_before)
  done.objects_blanked = await blankObjectsOf(deps, apps, { now_ms, noted_before }, signal)
  return done
}

/** Clicks of a run of the engine may go a day before those of a run of retention, and a night may be missed. */
const freeze_ahead_days = 3

/** The first days whose clicks go on counting by their rows. */
const firstFrozen = (apps: readonly KeptApp[], now_ms: number) => {
  const days = (kept: number) => Math.min(kept, limits.keep_click_days_max - freeze_ahead_days)
  const of_apps = apps.map((app) => ({ ...app, keep_click_days: days(app.keep_click_days) }))
  const otherwise = firstKeptDay(now_ms, days(limits.keep_click_days_max))
  return { ...firstKept(of_apps, 'keep_click_days', now_ms), otherwise }
}

async function blankObjectsOf(
  deps: RetentionDeps,
  apps: readonly KeptApp[],
  { now_ms, noted_before }: { now_ms: number; noted_before: string },
  signal: AbortSignal,
): Promise<number> {
  const days = apps.map(({ app_id, company_id, keep_ip_days, addresses_blanked_before: from }) => {
    const to = firstKeptDay(now_ms, keep_ip_days)
    // A clock that was ahead had set it. Objects that have come since hold addresses.
    return { app_id, company_id, from: from >= firstAhead(now_ms) ? '1970-01-01' : from, to }
  })
  const { late, done } = splitLate(await findLateDays(deps.pool), days)
  const blanked = await blankObjects({ ...deps, signal }, days, late)
  await markCompanies(deps.pool, 'addresses_blanked_before', days, now_ms)
  await removeLateDays(deps.pool, done, noted_before)
  return blanked
}

/**
 * A mark of a clock that was ahead goes back to the first day of which the run ahead, or whoever came later, left a click. What the
 * engine is still to delete is not gone yet: until then such a mark stays.
 */
async function markClicks(
  { pool, clickhouse }: RetentionDeps,
  apps: readonly KeptApp[],
  now_ms: number,
): Promise<void> {
  const today = utcDay(now_ms)
  const { rows } = await pool.query<{ company_id: string }>(
    'SELECT company_id FROM companies WHERE clicks_deleted_before >= $1',
    [firstAhead(now_ms)],
  )
  const ahead = new Set(rows.map(({ company_id }) => company_id))
  const left = await findFirstClicks(
    clickhouse,
    apps.filter(({ company_id }) => ahead.has(company_id)),
  )
  const stays = ahead.size > 0 && (await isDeleting(clickhouse, 'clicks_raw_v1')) ? ahead : new Set<string>()
  const marks = apps
    .filter(({ company_id }) => !stays.has(company_id))
    .map(({ company_id, keep_click_days }) => {
      const kept = firstKeptDay(now_ms, keep_click_days)
      return { company_id, to: ahead.has(company_id) ? latest(kept, left.get(company_id) ?? today) : kept }
    })
  await markCompanies(pool, 'clicks_deleted_before', marks, now_ms)
}

/** UTC day of the oldest click of each company. */
async function findFirstClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  apps: readonly KeptApp[],
): Promise<Map<string, string>> {
  if (apps.length === 0) return new Map()
  const companies = new Map(apps.map(({ app_id, company_id }) => [app_id, company_id]))
  const rows = await clickhouse.query<{ app_id: string; first: string }>(
    `SELECT app_id, toString(min(day)) AS first FROM clicks_raw_v1 WHERE app_id IN (${textLiterals(companies.keys())}) GROUP BY app_id`,
  )
  const first = new Map<string, string>()
  for (const { app_id, first: day } of rows) {
    const company_id = companies.get(app_id)!
    first.set(company_id, earliest(day, first.get(company_id) ?? day))
  }
  return first
}

const latest = (a: string, b: string): string => (a > b ? a : b)
const earliest = (a: string, b: string): string => (a < b ? a : b)

/** The first mark that only a clock ahead can have put: what is kept for the shortest time is kept for a day. */
const firstAhead = (now_ms: number): string => utcDay(now_ms)

/** A mark goes back only from today or later, where a clock that was ahead had put it. */
async function markCompanies(
  pool: Pool,
  mark: 'clicks_deleted_before' | 'addresses_blanked_before',
  days: readonly { company_id: string; to: string }[],
  now_ms: number,
): Promise<void> {
  const byCompany = new Map(days.map(({ company_id, to }) => [company_id, to]))
  await pool.query(
    `UPDATE companies c SET ${mark} = given.day
     FROM unnest($1::text[], $2::date[]) AS given (company_id, day)
     WHERE c.company_id = given.company_id AND (given.day > coalesce(c.${mark}, '1970-01-01') OR c.${mark} >= $3)`,
    [[...byCompany.keys()], [...byCompany.values()], firstAhead(now_ms)],
  )
}

/**
 * Marks the days whose raw events go. Sets that an erasure has touched are filled again before, since reports count these names in
 * raw events until the mark. False when the eraser takes too long with a step.
 */
async function expireRaw(
  { pool, clickhouse, wait_ms }: RetentionDeps,
  expiring: ReadonlyMap<string, string>,
): Promise<boolean> {
  if (expiring.size === 0) return true
  const marked = await afterRunning(pool, raw_events_lock, wait_ms, async () => {
    const fresh = await advanced(clickhouse, await untilOpenErasures(pool, expiring))
    if (fresh.size === 0) return
    const days = new Map([...fresh].map(([app_id, day]) => [app_id, `toDate(${textLiteral(day)})`]))
    await refillSets(
      clickhouse,
      `day < ${byAppSql(days, 'toDate(0)')} AND (app_id, day, event_name) IN (SELECT app_id, day, event_name FROM erased_events_v1)`,
    )
    await markRawExpired(clickhouse, fresh)
  })
  return marked !== null
}

/**
 * No day that a new life may have behind the mark of an erasure: the eraser tells both lives apart by raw events
 * (docs/decisions/erasure.md#an-erasure-needs-no-raw-events-to-find-rows). Whatever the clock of this process says, they stay until the
 * tables are emptied. No day at all of an app whose batch goes on: it has counted what it takes, and fills sets again from what remains.
 */
async function untilOpenErasures(pool: Pool, all: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ app_id: string }>('SELECT app_id FROM erasure_batches')
  const going = new Set(rows.map(({ app_id }) => app_id))
  const days = [...all].filter(([app_id]) => !going.has(app_id))
  const open = await findOpenMarks(pool)
  const firstOf = (app_id: string, day: string) => {
    const mark_ms = open.get(app_id)
    return mark_ms === undefined || day < utcDay(mark_ms) ? day : utcDay(mark_ms)
  }
  return new Map(days.map(([app_id, day]) => [app_id, firstOf(app_id, day)]))
}

/**
 * Sets marks from today on, of a run whose clock was ahead, back to the last day of which that run took events: the tables tell it,
 * whatever any clock says. One row takes back the mark of an app, so that a crash leaves the one or the other.
 */
async function takeBackMarks(
  clickhouse: Clickhouse,
  expiring: ReadonlyMap<string, string>,
  first_ahead: string,
): Promise<void> {
  const ahead = [...(await readRawExpired(clickhouse))].filter(([, before]) => before >= first_ahead)
  if (ahead.length === 0) return
  // What the engine is still to delete is not lacking yet.
  if (await isDeleting(clickhouse, 'events_raw_v1')) return
  const none = '1970-01-01'
  const apps = ahead.map(([app_id]) => app_id)
  const lacking = await findLackingDays(clickhouse, apps)
  const firstLeft = (app_id: string) => {
    const last = lacking.get(app_id)
    const behind = last === undefined ? none : utcDay(Date.parse(last) + day_ms)
    return latest(behind, expiring.get(app_id) ?? none)
  }
  const marks = ahead.map(([app_id, before]): [string, string, string] => [app_id, before, firstLeft(app_id)])
  await markRawExpired(
    clickhouse,
    new Map(marks.filter(([, before, left]) => left < before).map(([app_id, , left]) => [app_id, left])),
  )
}

async function isDeleting(clickhouse: Pick<Clickhouse, 'query'>, table: string): Promise<boolean> {
  const [open] = await clickhouse.query<{ left: number }>(
    `SELECT count() AS left FROM system.mutations
     WHERE database = currentDatabase() AND table = ${textLiteral(table)} AND NOT is_done`,
  )
  return open!.left > 0
}

/** Days that are later than what is marked: a day that is marked is never kept again. */
async function advanced(clickhouse: Clickhouse, days: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const marked = await readRawExpired(clickhouse)
  return new Map([...days].filter(([app_id, day]) => day > (marked.get(app_id) ?? '')))
}

/** The first day of unproven postbacks that is kept: none that postback-writer has still to write is before it. */
export async function unprovenBefore(deps: RetentionDeps, now_ms: number): Promise<string> {
  const written = utcDay(await writtenBefore(deps, consumers.postbackWriter, now_ms))
  const kept = firstKeptDay(now_ms, limits.postback_unproven_days_max)
  return earliest(written, kept)
}

/** What a writer takes that was received before this time is in all tables, Unix epoch ms. */
async function writtenBefore(
  { broker }: RetentionDeps,
  { name, topic }: ConsumerGroup,
  now_ms: number,
): Promise<number> {
  const offsets = await broker.groupOffsets(name, topic.name)
  const unread = offsets.flatMap(({ oldest_unread_ms }) => oldest_unread_ms ?? [])
  return Math.floor(Math.min(now_ms, ...unread) - writing_ms)
}
