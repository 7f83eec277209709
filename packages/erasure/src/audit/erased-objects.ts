import type { Pool } from 'pg'

/** An audit object that holds events which a consumer dropped as erased. */
export interface ErasedObject {
  app_id: string
  audit_key: string
  /** How often it had been noted when it was read. */
  notes: number
}

/** Keys of one statement. */
const page_rows = 1000

/**
 * Notes the audit objects of events of an app that are dropped as erased, before their batch is committed: the next run of
 * the eraser rewrites them (docs/rules.md#rewritten-audit-objects). Noting a key again is harmless.
 */
export async function noteErasedObjects(pool: Pool, app_id: string, audit_keys: Iterable<string>): Promise<void> {
  // Sorted, so that two consumers that note the same keys do not wait for each other in a circle.
  const keys = [...new Set(audit_keys)].sort()
  for (let at = 0; at < keys.length; at += page_rows) {
    await pool.query(
      `INSERT INTO erased_objects (app_id, audit_key) SELECT $1, unnest($2::text[])
       ON CONFLICT (app_id, audit_key) DO UPDATE SET notes = erased_objects.notes % 1000000000 + 1`,
      [app_id, keys.slice(at, at + page_rows)],
    )
  }
}

/** The apps that have noted objects. */
export async function findAppsWithErasedObjects(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ app_id: string }>('SELECT DISTINCT app_id FROM erased_objects ORDER BY app_id')
  return rows.map(({ app_id }) => app_id)
}

/** The next noted objects of an app behind a key, in the order of their keys. */
export async function findErasedObjects(pool: Pool, app_id: string, after: string): Promise<ErasedObject[]> {
  const { rows } = await pool.query<ErasedObject>(
    `SELECT app_id, audit_key, notes FROM erased_objects
     WHERE app_id = $1 AND audit_key > $2 ORDER BY audit_key LIMIT $3`,
    [app_id, after, page_rows],
  )
  return rows
}

/** Removes notes, but those whose object was noted once more since they were read. */
export async function removeErasedObjects(pool: Pool, seen: readonly ErasedObject[]): Promise<void> {
  await pool.query(
    `DELETE FROM erased_objects USING unnest($1::text[], $2::text[], $3::int[]) AS seen (app_id, audit_key, notes)
     WHERE (erased_objects.app_id, erased_objects.audit_key, erased_objects.notes) = (seen.app_id, seen.audit_key, seen.notes)`,
    [seen.map(({ app_id }) => app_id), seen.map(({ audit_key }) => audit_key), seen.map(({ notes }) => notes)],
  )
}
