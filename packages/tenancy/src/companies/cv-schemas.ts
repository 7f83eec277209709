import type { CvSchemaPublished, CvSchemaShown } from '@tributary/contracts/admin/cv-schemas'
import type { Platform } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import type { CvSchema } from '@tributary/contracts/postback/cv-schema'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool } from 'pg'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { mustBeOnIos } from './store-id.ts'
import { mustHaveIdShape } from './tenants.ts'

/**
 * Publishes a checked schema as the next version, which is live from then on. A clock that is behind that of the version
 * before does not put the new one before it. Throws `unknown_app`, and `invalid_field` for an
 * Android app.
 */
export function publishCvSchema(
  pool: Pool,
  app_id: string,
  postbacks: CvSchema['postbacks'],
  request: AdminRequest,
): Promise<CvSchemaPublished> {
  mustHaveIdShape(app_id, 'unknown_app')
  return inTransaction(pool, async (client) => {
    // The second of two that publish at once waits here, and then takes the number after the first.
    const found = await client.query<{ platform: Platform }>(
      'SELECT platform FROM apps WHERE app_id = $1 FOR NO KEY UPDATE',
      [app_id],
    )
    if (found.rows[0] === undefined) throw new CodedError('unknown_app', { field: 'app_id' })
    mustBeOnIos(found.rows[0].platform, 'app_id')
    const { rows } = await client.query<{ version: number }>(
      `INSERT INTO cv_schemas (app_id, version, published_at, postbacks)
       SELECT $1, coalesce(max(version), 0) + 1, greatest(to_timestamp($2 / 1000.0), max(published_at)), $3
       FROM cv_schemas WHERE app_id = $1 RETURNING version`,
      [app_id, request.now_ms, JSON.stringify(postbacks)],
    )
    const { version } = rows[0]!
    await recordAdminAction(client, request, { action: 'cv_schema.publish', subject: app_id, detail: { version } })
    return { app_id, version }
  })
}

/**
 * The newest schema of an app, nulls when none was published; with a number that version. Throws `unknown_app`, and
 * `unknown_cv_schema` for a number that was not published.
 */
export async function getCvSchema(pool: Pool, app_id: string, version?: number): Promise<CvSchemaShown> {
  mustHaveIdShape(app_id, 'unknown_app')
  const { rows } = await pool.query<{ version: number | null; postbacks: CvSchema['postbacks'] }>(
    `SELECT s.version, s.postbacks FROM apps a
     LEFT JOIN cv_schemas s ON s.app_id = a.app_id AND ($2::integer IS NULL OR s.version = $2)
     WHERE a.app_id = $1 ORDER BY s.version DESC LIMIT 1`,
    [app_id, version],
  )
  if (rows[0] === undefined) throw new CodedError('unknown_app', { field: 'app_id' })
  const { version: found, postbacks } = rows[0]
  if (found !== null) return { app_id, version: found, schema: { version: found, postbacks } }
  if (version !== undefined) throw new CodedError('unknown_cv_schema', { field: 'version' })
  return { app_id, version: null, schema: null }
}
