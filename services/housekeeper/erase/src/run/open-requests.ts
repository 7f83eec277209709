import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { erasures_begun_key, queuedErasureKey } from '@tributary/contracts/erasure'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import type { NotedLog } from '@tributary/erasure/unread-events'
import { type NewTombstone, writeTombstones } from '@tributary/erasure/write-tombstones'
import type { KeyValue } from '@tributary/key-value/key-value'
import { findSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { ErasedClick, ErasedInstall } from '../batch/batch.ts'
import type { FailedApps } from './failures.ts'
import { findNewestReceived } from './newest-received.ts'

export interface RequestStore {
  pool: Pool
  masterKeys: MasterKeys
  clickhouse: Pick<Clickhouse, 'query'>
  /**
   * The newest receipt, Unix epoch ms, that the audit store has of installs of an app and a mark at `after_ms` does not cover:
   * what no table shows, a duplicate that was dropped, say.
   */
  findAudited(app_id: string, install_uuids: readonly string[], after_ms: number): Promise<Map<string, number>>
  /** Notes what stands in the log of accepted events now. */
  noteLog(): Promise<NotedLog>
  /** Does a step while retention deletes no raw events. */
  whileRawEventsStay<T>(step: () => Promise<T>): Promise<T>
  /** The marks of queued erasures that gateways keep. */
  keyValue: Pick<KeyValue, 'get' | 'mark' | 'remove' | 'reconcile'>
  now(): number
}

type Salts = Pick<RequestStore, 'pool' | 'masterKeys'>

interface QueuedRow {
  install_hash: Buffer
  install_uuid: string
  requested_at_ms: string
}

/** Marks of gateways that are removed at the same time. */
const marks_at_once = 50
/** How long the counter `erasures_begun` is kept: far longer than any mark of a gateway. */
const begun_kept_ms = 100 * 366 * day_ms

/** Requests of one transaction, whose statements have to end in time however many are queued. */
const taken_at_once = 10_000

/**
 * Takes every queued request, app by app: their tombstones are written before anything is erased. Returns how many. What fails for
 * one app leaves its requests to the next run, and ends no other's. Rejects when an engine is away.
 */
export async function takeRequests(store: RequestStore, failed: FailedApps): Promise<number> {
  let taken = 0
  for (const app_id of await findQueuedApps(store)) {
    if (failed.has(app_id)) continue
    try {
      taken += await takeApp(store, app_id)
    } catch (err) {
      if (err instanceof CodedError && err.code === 'unavailable') throw err
      await failed.add(app_id, err)
    }
  }
  return taken
}

/** The apps with requests that are not taken. */
export async function findQueuedApps(salts: Salts): Promise<string[]> {
  const { rows } = await salts.pool.query<{ app_id: string }>(
    `SELECT DISTINCT app_id FROM erasure_requests
     WHERE install_uuid IS NOT NULL AND mark_ms IS NULL AND requested_at_ms > erased_up_to_ms ORDER BY app_id`,
  )
  return withReadableSalt(salts, rows.map(appOf))
}

/**
 * The audit store first, which takes longest and needs no lock; then, in one step with the tombstones, what the tables show
 * (docs/decisions/erasure.md#cutoffs-cover-what-the-audit-store-has). A request that comes meanwhile waits for the next look.
 */
async function takeApp(store: RequestStore, app_id: string): Promise<number> {
  const queued = await findQueued(store.pool, app_id)
  const uuids = queued.map(({ install_uuid }) => install_uuid)
  // What the log holds by now is in the audit store too, so that the marks cover all of it.
  const log = await store.noteLog()
  const audited = await store.findAudited(app_id, uuids, store.now())
  for (let at = 0; at < queued.length; at += taken_at_once) {
    const some = queued.slice(at, at + taken_at_once)
    await store.whileRawEventsStay(() => takeQueued(store, app_id, some, { audited, log }))
  }
  return queued.length
}

async function findQueued(pool: Pool, app_id: string): Promise<QueuedRow[]> {
  const { rows } = await pool.query<QueuedRow>(
    `SELECT install_hash, install_uuid, requested_at_ms FROM erasure_requests
     WHERE app_id = $1 AND install_uuid IS NOT NULL AND mark_ms IS NULL AND requested_at_ms > erased_up_to_ms
     ORDER BY install_hash`,
    [app_id],
  )
  return rows
}

/**
 * The marks of gateways end first: a request that one still answered is covered, and a later one is stored
 * (docs/decisions/erasure.md#a-flag-says-that-an-erasure-is-queued). A mark covers all that is there: a clock that was set back since may
 * have received some of it later than now.
 */
async function takeQueued(
  { pool, masterKeys, clickhouse, keyValue, now }: RequestStore,
  app_id: string,
  rows: readonly QueuedRow[],
  { audited, log }: { audited: ReadonlyMap<string, number>; log: NotedLog },
): Promise<void> {
  const uuids = rows.map(({ install_uuid }) => install_uuid)
  const received = await findNewestReceived(clickhouse, app_id, uuids, now())
  const least_ms = rows.map(({ install_uuid, requested_at_ms }) =>
    Math.max(Number(requested_at_ms), received.get(install_uuid) ?? 0, audited.get(install_uuid) ?? 0),
  )
  const begun_ms = latest([now(), ...least_ms]) + limits.erasure_begin_ms
  const before_ms = (await keyValue.get(erasures_begun_key)) ?? 0
  await keyValue.reconcile(erasures_begun_key, begun_ms, null, begun_kept_ms)
  const now_ms = now()
  if (now_ms > begun_ms)
    throw new CodedError('unavailable', { message: 'marks of queued erasures took too long to end' })
  const marks = least_ms.map((at_ms) => Math.max(now_ms, at_ms))
  const tombstones = uuids.map((install_uuid, n): NewTombstone => {
    const log_end = log.endOf({ app_id, install_uuid })
    return { app_id, kind: 'install', id: install_uuid, mark_ms: marks[n]!, log_end }
  })
  await writeTombstones({ pool, masterKeys }, tombstones, async (client, newest) => {
    await client.query(
      `UPDATE erasure_requests AS e SET mark_ms = t.mark_ms, tombstones = $4, emptied_at_ms = NULL
       FROM unnest($2::bytea[], $3::bigint[]) AS t (install_hash, mark_ms)
       WHERE e.app_id = $1 AND e.install_hash = t.install_hash AND e.mark_ms IS NULL AND e.install_uuid IS NOT NULL
         AND e.requested_at_ms > e.erased_up_to_ms AND e.requested_at_ms <= t.mark_ms`,
      [app_id, rows.map(({ install_hash }) => install_hash), marks, newest],
    )
  })
  await lowerBegun(keyValue, latest([before_ms, now_ms, ...marks]))
}

/** A spread of as many arguments may be too much for a call. */
const latest = (times: readonly number[]): number => times.reduce((one, other) => Math.max(one, other), 0)

/** Lowers what gateways know to the last mark that was written: a request behind it is queued, and known to be. */
async function lowerBegun(keyValue: RequestStore['keyValue'], begun_ms: number): Promise<void> {
  const mark_id = randomUUID()
  await keyValue.mark(erasures_begun_key, mark_id)
  await keyValue.reconcile(erasures_begun_key, begun_ms, mark_id, begun_kept_ms)
}

/** Removes marks of gateways. One that counts costs another object, no more. */
export async function removeMarks(
  keyValue: RequestStore['keyValue'],
  installs: readonly { app_id: string; install_uuid: string }[],
): Promise<void> {
  for (let at = 0; at < installs.length; at += marks_at_once) {
    const some = installs.slice(at, at + marks_at_once)
    await Promise.all(some.map(({ app_id, install_uuid }) => keyValue.remove(queuedErasureKey(app_id, install_uuid))))
  }
}

/** The audit store cannot be read: nothing is taken, and what was taken before goes on. */
export class AuditAwayError extends CodedError {}

const appOf = ({ app_id }: { app_id: string }): string => app_id

/** Those of the apps whose tombstones can be written and read. The others wait for their master key, and hold up none. */
export async function withReadableSalt({ pool, masterKeys }: Salts, app_ids: readonly string[]): Promise<string[]> {
  const salts = await findSalts(pool, masterKeys, app_ids)
  return app_ids.filter((app_id) => !(salts.get(app_id) instanceof Error))
}

/** The apps with requests that wait for their master key. */
export async function findLockedApps(salts: Salts): Promise<string[]> {
  const { rows } = await salts.pool.query<{ app_id: string }>(
    'SELECT DISTINCT app_id FROM erasure_requests WHERE install_uuid IS NOT NULL ORDER BY app_id',
  )
  const readable = new Set(await withReadableSalt(salts, rows.map(appOf)))
  return rows.map(appOf).filter((app_id) => !readable.has(app_id))
}

/** The apps that have something to erase; with `up_to` of tombstones up to that number. */
export async function findOpenApps(salts: Salts, up_to: number | null = null): Promise<string[]> {
  const { rows } = await salts.pool.query<{ app_id: string }>(
    `SELECT app_id FROM erasure_requests
     WHERE mark_ms IS NOT NULL AND emptied_at_ms IS NULL AND tombstones <= coalesce($1, tombstones)
     UNION SELECT app_id FROM erasure_batches WHERE tombstones <= coalesce($1, tombstones) ORDER BY app_id`,
    [up_to],
  )
  return withReadableSalt(salts, rows.map(appOf))
}

/** The installs of a batch that is not begun. */
export interface NextInstalls {
  installs: ErasedInstall[]
  /** Number of the newest of their tombstones. */
  tombstones: number
}

/** The installs of the next batch of an app: requests of SDKs stand behind those of the admin API. */
export async function findNextInstalls(pool: Pool, app_id: string): Promise<NextInstalls> {
  const { rows } = await pool.query<{ install_uuid: string; mark_ms: string; tombstones: string }>(
    `SELECT install_uuid, mark_ms, tombstones FROM erasure_requests
     WHERE app_id = $1 AND mark_ms IS NOT NULL AND emptied_at_ms IS NULL
     ORDER BY asked_by, requested_at_ms, install_hash LIMIT $2`,
    [app_id, limits.erasure_requests_max],
  )
  return {
    installs: rows.map(({ install_uuid, mark_ms }) => ({ install_uuid, mark_ms: Number(mark_ms) })),
    tombstones: Math.max(0, ...rows.map(({ tombstones }) => Number(tombstones))),
  }
}

/**
 * The installs whose tables are empty and that are not completed yet, of apps that have nothing else to erase; of all apps those with
 * tombstones up to `up_to`.
 */
export async function findEmptied(pool: Pool, up_to = 0): Promise<Map<string, ErasedInstall[]>> {
  const { rows } = await pool.query<{ app_id: string; install_uuid: string; mark_ms: string }>(
    `SELECT app_id, install_uuid, mark_ms FROM erasure_requests AS e
     WHERE mark_ms IS NOT NULL AND emptied_at_ms IS NOT NULL AND (tombstones <= $1 OR NOT EXISTS (
       SELECT 1 FROM erasure_requests AS open
       WHERE open.app_id = e.app_id AND open.mark_ms IS NOT NULL AND open.emptied_at_ms IS NULL))
     ORDER BY app_id, install_hash`,
    [up_to],
  )
  const installs = Map.groupBy(rows, ({ app_id }) => app_id)
  return new Map(
    [...installs].map(([app_id, of]) => [
      app_id,
      of.map(({ install_uuid, mark_ms }) => ({ install_uuid, mark_ms: Number(mark_ms) })),
    ]),
  )
}

/**
 * Completes the erasure of installs of an app. Their ids go, unless they are queued again. While audit objects of the app are
 * unreadable, their certificates say so.
 */
export async function completeRequests(
  pool: Pool,
  app_id: string,
  installs: readonly (ErasedInstall & { objects: number })[],
): Promise<void> {
  for (let at = 0; at < installs.length; at += taken_at_once)
    await completeSome(pool, app_id, installs.slice(at, at + taken_at_once))
}

async function completeSome(
  pool: Pool,
  app_id: string,
  installs: readonly (ErasedInstall & { objects: number })[],
): Promise<void> {
  await pool.query(
    `UPDATE erasure_requests AS e SET
       marks = marks || jsonb_build_array(jsonb_build_object(
         'requested_at_ms', least(requested_at_ms, e.mark_ms), 'erased_up_to_ms', e.mark_ms)),
       erased_up_to_ms = e.mark_ms, mark_ms = NULL, emptied_at_ms = NULL, tombstones = NULL,
       objects_rewritten = objects_rewritten + t.objects,
       unreadable = (SELECT coalesce(max(number), 0) FROM unreadable_objects AS u WHERE u.app_id = e.app_id),
       install_uuid = CASE WHEN requested_at_ms > e.mark_ms THEN e.install_uuid END
     FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS t (install_uuid, objects, mark_ms)
     WHERE app_id = $1 AND e.install_uuid = t.install_uuid AND e.mark_ms = t.mark_ms AND emptied_at_ms IS NOT NULL`,
    [
      app_id,
      installs.map(({ install_uuid }) => install_uuid),
      installs.map(({ objects }) => objects),
      installs.map(({ mark_ms }) => mark_ms),
    ],
  )
}

/** An erased click and its app. */
export type ErasedClickOfApp = ErasedClick & { app_id: string }

/** Erased clicks whose archives are not rewritten yet, but those of installs that are still being emptied. */
export async function findErasedClicks(pool: Pool): Promise<ErasedClickOfApp[]> {
  const { rows } = await pool.query<ErasedClickOfApp>(
    `SELECT app_id, click_id, install_uuid FROM erasure_clicks AS c WHERE NOT EXISTS (
       SELECT 1 FROM erasure_requests AS e WHERE e.app_id = c.app_id AND e.install_uuid = c.install_uuid
         AND mark_ms IS NOT NULL AND emptied_at_ms IS NULL)`,
  )
  return rows
}

/** Forgets erased clicks, whose archives are rewritten now. */
export async function removeErasedClicks(pool: Pool, clicks: readonly ErasedClickOfApp[]): Promise<void> {
  await pool.query(
    `DELETE FROM erasure_clicks AS e USING unnest($1::text[], $2::text[]) AS t (app_id, click_id)
     WHERE e.app_id = t.app_id AND e.click_id = t.click_id`,
    [clicks.map(({ app_id }) => app_id), clicks.map(({ click_id }) => click_id)],
  )
}
