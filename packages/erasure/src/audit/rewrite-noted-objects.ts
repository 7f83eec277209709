import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import type { Pool } from 'pg'
import type { AuditSource, MarkOf } from './erase-request.ts'
import { findErasedObjects, removeErasedObjects } from './erased-objects.ts'
import { countObject, folderOf, noCounts, type RewriteCounts } from './rewrite-counts.ts'
import { rewriteObject } from './rewrite-object.ts'
import { noteUnreadable } from './unreadable-objects.ts'

export interface RewriteNotedObjectsOptions {
  audit: Pick<RewritableAuditStore, 'get' | 'replace' | 'erase'>
  pool: Pool
  app_id: string
  /** Knows every install that was ever erased, as a note names none: `Tombstones.markOf` of the newest number. */
  markOf: MarkOf
  now(): number
  signal: AbortSignal
}

/**
 * Rewrites the audit objects that consumers noted (`noteErasedObjects`), and removes their notes behind them. A crash in
 * between leaves the notes: the objects are read once more, and stay. An object that is gone needs nothing; one that cannot be
 * read is noted apart (`noteUnreadable`).
 */
export async function rewriteNotedObjects(options: RewriteNotedObjectsOptions): Promise<RewriteCounts> {
  const { audit, pool, app_id, markOf, now, signal } = options
  const counts = noCounts()
  let after = ''
  for (;;) {
    const noted = await findErasedObjects(pool, app_id, after)
    if (noted.length === 0) return counts
    for (const note of noted) {
      signal.throwIfAborted()
      const object = findObject(app_id, note.audit_key)
      if (object === null) continue
      await countObject(counts, folderOf(object.key), async () => {
        const content = await audit.get(object.key)
        // Any rewritten object is checked for the remains of a crash: a note says nothing about when.
        return content && rewriteObject({ audit, markOf, since_ms: 0, now }, { app_id, ...object, content })
      })
    }
    await noteUnreadable(pool, app_id, counts.unreadable_in)
    await removeErasedObjects(pool, noted)
    after = noted.at(-1)!.audit_key
  }
}

/** The key in the store of the object of an audit key; null when it holds no request of this app. */
function findObject(app_id: string, audit_key: string): { key: string; source: AuditSource } | null {
  if (audit_key.startsWith('audit/')) {
    const [, , , , , owner] = audit_key.split('/')
    return owner === app_id ? { key: audit_key, source: 'sdk' } : null
  }
  if (audit_key.startsWith('s2s/bulk/')) return { key: `${app_id}/${audit_key}`, source: 'bulk' }
  return audit_key.startsWith('s2s/') ? { key: `${app_id}/${audit_key}`, source: 's2s' } : null
}
