import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { findAppsWithErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { rewriteAudit } from '@tributary/erasure/audit/rewrite-audit'
import { rewriteClickArchives } from '@tributary/erasure/audit/rewrite-click-archives'
import type { RewriteCounts } from '@tributary/erasure/audit/rewrite-counts'
import { rewriteNotedObjects } from '@tributary/erasure/audit/rewrite-noted-objects'
import { noteUnreadable, rewriteUnreadable } from '@tributary/erasure/audit/unreadable-objects'
import { findNewestAudited } from '@tributary/erasure/newest-audited'
import { openTombstones } from '@tributary/erasure/tombstones'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { withReadableSalt } from './open-requests.ts'
import type { AuditRewriting } from './run-erasures.ts'

export interface AuditDeps {
  pool: Pool
  masterKeys: MasterKeys
  audit: RewritableAuditStore
  now(): number
  logger: Logger
}

/** Takes what was erased out of the audit store. */
export function auditRewriting({ pool, masterKeys, audit, now, logger }: AuditDeps): AuditRewriting {
  const tombstones = openTombstones({ pool, masterKeys })
  /** Notes and logs unreadable objects, which may hold the install: certificates of these apps wait for them. */
  async function noteFaults(app_ids: readonly string[], { unreadable_in, rewritten_of }: RewriteCounts) {
    for (const app_id of app_ids) await noteUnreadable(pool, app_id, unreadable_in)
    for (const [folder, objects] of unreadable_in) logFaults(folder, app_ids, objects)
    return rewritten_of
  }
  const logFaults = (folder: string, app_ids: readonly string[], objects_unreadable: number) =>
    logger.error({ folder, app_ids, objects_unreadable }, 'audit objects are unreadable, and may hold what was erased')

  async function companyOf(app_id: string): Promise<string> {
    const { rows } = await pool.query<{ company_id: string }>('SELECT company_id FROM apps WHERE app_id = $1', [app_id])
    return rows[0]!.company_id
  }

  return {
    async findAudited(app_id, install_uuids, after_ms, signal) {
      const company_id = await companyOf(app_id)
      return findNewestAudited({ audit, company_id, app_id, install_uuids, after_ms, signal })
    },
    async rewriteApp(app_id, installs, signal) {
      const company_id = await companyOf(app_id)
      const since_ms = await firstBegun(pool)
      return noteFaults([app_id], await rewriteAudit({ audit, company_id, app_id, installs, since_ms, now, signal }))
    },
    async rewriteArchives(clicks, signal) {
      if (clicks.length === 0) return new Map()
      const since_ms = await firstBegun(pool)
      const app_ids = [...new Set(clicks.map(({ app_id }) => app_id))]
      return noteFaults(app_ids, await rewriteClickArchives({ audit, clicks, since_ms, now, signal }))
    },
    async rewriteNoted(signal) {
      const known = await tombstones.upTo(await tombstones.newest())
      const apps = await withReadableSalt({ pool, masterKeys }, await findAppsWithErasedObjects(pool))
      for (const app_id of apps) {
        const markOf = (install_uuid: string) => known.markOf(app_id, install_uuid)
        await rewriteNotedObjects({ audit, pool, app_id, markOf, now, signal })
      }
      await rewriteUnreadable({
        ...{ audit, pool, tombstones: known, now, signal },
        readable: (app_ids) => withReadableSalt({ pool, masterKeys }, app_ids),
        onUnreadable: logFaults,
      })
    },
  }
}

/**
 * When the first of the erasures began that are not completed yet, Unix epoch ms. A mark may lie ahead of the eraser's clock, which tells
 * when an object was rewritten: the run that goes on began by that clock.
 */
async function firstBegun(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ first: string | null }>(
    `SELECT least(
       (SELECT min(mark_ms) FROM erasure_requests WHERE mark_ms IS NOT NULL),
       (SELECT min(begun_at_ms) FROM erasure_runs WHERE ended_at_ms IS NULL)) AS first`,
  )
  return Number(rows[0]?.first ?? 0)
}
