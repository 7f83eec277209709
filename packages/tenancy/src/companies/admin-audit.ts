import type { PoolClient } from 'pg'

/** The person and the time of an administrative change. */
export interface AdminRequest {
  actor: string
  request_id: string
  now_ms: number
}

export interface AdminAction {
  action: string
  /** Id of what was changed. */
  subject: string
  /** Details without a key and without a secret. */
  detail: Record<string, unknown>
}

/** Writes one row of `admin_audit_log`, in the transaction of the change that it records; reading data needs no transaction. */
export async function recordAdminAction(
  client: Pick<PoolClient, 'query'>,
  request: AdminRequest,
  entry: AdminAction,
): Promise<void> {
  await client.query(
    `INSERT INTO admin_audit_log (at, actor, action, subject, detail, request_id)
     VALUES (to_timestamp($1 / 1000.0), $2, $3, $4, $5, $6)`,
    [request.now_ms, request.actor, entry.action, entry.subject, JSON.stringify(entry.detail), request.request_id],
  )
}
