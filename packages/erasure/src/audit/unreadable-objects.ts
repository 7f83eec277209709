import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import type { Tombstones } from '@tributary/domain/erasure/tombstones'
import { click_archive_folder } from '@tributary/tables/attribution/click-archive'
import type { Pool } from 'pg'
import type { AuditSource } from './erase-request.ts'
import { rewriteFolder } from './rewrite-audit.ts'
import { rewriteArchiveFolder } from './rewrite-click-archives.ts'
import { noCounts, type RewriteCounts } from './rewrite-counts.ts'

/**
 * Notes folders with objects of an app that could not be read or rewritten, by their number of such objects. Certificates of
 * erasures that end from now on wait for them (docs/decisions/erasure.md#certificates-wait-for-unreadable-objects). Noting a folder again
 * is harmless.
 */
export async function noteUnreadable(
  pool: Pool,
  app_id: string,
  unreadable_in: ReadonlyMap<string, number>,
): Promise<void> {
  if (unreadable_in.size === 0) return
  await pool.query(
    `INSERT INTO unreadable_objects AS u (app_id, folder, objects) SELECT $1, * FROM unnest($2::text[], $3::bigint[])
     ON CONFLICT (app_id, folder) DO UPDATE SET objects = greatest(u.objects, excluded.objects)`,
    [app_id, [...unreadable_in.keys()], [...unreadable_in.values()]],
  )
}

/** How many objects erasures wait for. An archive of clicks counts for each app that waits for it. */
export async function countUnreadable(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ objects: string }>(
    'SELECT coalesce(sum(objects), 0) AS objects FROM unreadable_objects',
  )
  return Number(rows[0]!.objects)
}

export interface RewriteUnreadableOptions {
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  pool: Pool
  /** All tombstones, because a note names no install. */
  tombstones: Tombstones
  /** The apps, of those given, whose salts can be read. The others wait. */
  readable(app_ids: readonly string[]): Promise<string[]>
  now(): number
  signal: AbortSignal
  /** Called for each folder that still has unreadable objects. */
  onUnreadable(folder: string, apps: readonly string[], objects: number): void
}

/** Reads the noted folders again, and forgets those in which nothing is unreadable any more. */
export async function rewriteUnreadable(options: RewriteUnreadableOptions): Promise<void> {
  const { pool, readable, onUnreadable } = options
  const { rows } = await pool.query<{ folder: string; app_ids: string[] }>(
    'SELECT folder, array_agg(app_id ORDER BY app_id) AS app_ids FROM unreadable_objects GROUP BY folder ORDER BY folder',
  )
  for (const { folder, app_ids } of rows) {
    const waiting = await readable(app_ids)
    if (waiting.length === 0) continue
    const { objects_unreadable: objects } = await rewriteAgain(options, folder, waiting)
    const ofWaiting = 'WHERE folder = $1 AND app_id = ANY($2::text[])'
    if (objects === 0) await pool.query(`DELETE FROM unreadable_objects ${ofWaiting}`, [folder, waiting])
    else {
      onUnreadable(folder, waiting, objects)
      await pool.query(`UPDATE unreadable_objects SET objects = $3 ${ofWaiting}`, [folder, waiting, objects])
    }
  }
}

async function rewriteAgain(
  { audit, tombstones, now, signal }: RewriteUnreadableOptions,
  folder: string,
  app_ids: readonly string[],
): Promise<RewriteCounts> {
  // Any rewritten object is checked for the remains of a crash: a note says nothing about when.
  const rule = { audit, since_ms: 0, now, signal }
  if (folder.startsWith(click_archive_folder)) {
    const isErased = (app_id: string, click_id: string) =>
      app_ids.includes(app_id) && tombstones.isErasedClick(app_id, click_id)
    return rewriteArchiveFolder({ ...rule, folder, isErased })
  }
  const counts = noCounts()
  for (const app_id of app_ids) {
    const markOf = (install_uuid: string) => tombstones.markOf(app_id, install_uuid)
    await rewriteFolder({ ...rule, markOf }, { app_id, source: sourceOf(folder), folder }, counts)
  }
  return counts
}

function sourceOf(folder: string): AuditSource {
  if (folder.startsWith('audit/')) return 'sdk'
  return /^[^/]+\/s2s\/bulk\//.test(folder) ? 'bulk' : 's2s'
}
