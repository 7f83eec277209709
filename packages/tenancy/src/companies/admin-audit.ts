import type { PoolClient } from 'pg'

/** The person and the time of an administrative change. */
export interface AdminRequest {
  actor: string
  request_id: string
  now_ms: number
  /** Absent for the admin token and for the product itself. */
  person_id?: string | undefined
  ip?: string | undefined
}

export interface AdminAction {
  action: string
  /** Id of what was changed. */
  subject: string
  /** What it became, without a key and without a secret. */
  detail: Record<string, unknown>
  /** What it was, where the change replaced something. */
  before?: Record<string, unknown>
  /** The company that sees the entry, where the subject is none of its things. */
  company_id?: string | null
}

/**
 * Writes one row of `admin_audit_log`, in the transaction of the change that it records; reading data needs no transaction.
 * The company of the entry is that of its subject.
 */
export async function recordAdminAction(
  client: Pick<PoolClient, 'query'>,
  { now_ms, actor, person_id, ip, request_id }: AdminRequest,
  { action, subject, detail, before, company_id }: AdminAction,
): Promise<void> {
  await client.query(
    `INSERT INTO admin_audit_log (at, actor, person_id, ip, request_id, action, subject, detail, before, company_id)
     VALUES (to_timestamp($1 / 1000.0), $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10, audit_company($7)))`,
    [
      ...[now_ms, actor, person_id, ip, request_id, action, subject, JSON.stringify(detail)],
      ...[before === undefined ? null : JSON.stringify(before), company_id],
    ],
  )
}
