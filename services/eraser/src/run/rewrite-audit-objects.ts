import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { findAppsWithErasedObjects } from '@tributary/erasure/audit/erased-objects'
import { rewriteAudit } from '@tributary/erasure/audit/rewrite-audit'
import { rewriteClickArchives } from '@tributary/erasure/audit/rewrite-click-archives'
import { rewriteNotedObjects } from '@tributary/erasure/audit/rewrite-noted-objects'
import { openTombstones } from '@tributary/erasure/tombstones'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { AuditRewriting } from './run-erasures.ts'

export interface AuditDeps {
  pool: Pool
  masterKeys: MasterKeys
  audit: RewritableAuditStore
  now(): number
}

/** Takes what was erased out of the audit store. */
export function auditRewriting({ pool, masterKeys, audit, now }: AuditDeps): AuditRewriting {
  const tombstones = openTombstones({ pool, masterKeys })
  return {
    async rewriteApp(app_id, installs, signal) {
      const { rows } = await pool.query<{ company_id: string }>('SELECT company_id FROM apps WHERE app_id = $1', [
        app_id,
      ])
      const { company_id } = rows[0]!
      return (await rewriteAudit({ audit, company_id, app_id, installs, now, signal })).rewritten_of
    },
    async rewriteArchives(clicks, signal) {
      if (clicks.length === 0) return new Map()
      const since_ms = await firstTombstone(pool)
      return (await rewriteClickArchives({ audit, clicks, since_ms, now, signal })).rewritten_of
    },
    async rewriteNoted(signal) {
      const known = await tombstones.upTo(await tombstones.newest())
      for (const app_id of await findAppsWithErasedObjects(pool)) {
        const markOf = (install_uuid: string) => known.markOf(app_id, install_uuid)
        await rewriteNotedObjects({ audit, pool, app_id, markOf, now, signal })
      }
    },
  }
}

/** When the first of the erasures began that are not completed yet, Unix epoch ms. */
async function firstTombstone(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ first: string | null }>(
    'SELECT min(mark_ms) AS first FROM erasure_requests WHERE mark_ms IS NOT NULL',
  )
  return Number(rows[0]?.first ?? 0)
}
