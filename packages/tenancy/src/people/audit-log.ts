import type { AuditEntry, AuditLogQuery } from '@tributary/contracts/admin/people/audit-log'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { getCompany } from '../companies/tenants.ts'

/** Which entries are read; `before_id` and `limit` page through them, the newest first. */
export type AuditFilter = Omit<AuditLogQuery, 'format'>

/** Some entries of the audit log, the newest first. Throws `unknown_company`. */
export async function readAuditLog(pool: Pool, filter: AuditFilter): Promise<AuditEntry[]> {
  const { company_id, since_ms, until_ms, actor, action, subject, before_id, limit } = filter
  if (company_id !== undefined) await getCompany(pool, company_id)
  const { rows } = await pool.query<AuditEntry>(
    `SELECT id::float8 AS id, floor(extract(epoch FROM at) * 1000)::float8 AS at_ms, actor, person_id, ip, action, subject,
       company_id, before, detail AS after, request_id
     FROM admin_audit_log
     WHERE ($1::text IS NULL OR company_id = $1) AND ($2::float8 IS NULL OR at >= to_timestamp($2 / 1000.0))
       AND ($3::float8 IS NULL OR at < to_timestamp($3 / 1000.0)) AND ($4::text IS NULL OR actor = $4)
       AND ($5::text IS NULL OR action = $5 OR starts_with(action, $5 || '.')) AND ($6::text IS NULL OR subject = $6)
       AND ($7::bigint IS NULL OR id < $7)
     ORDER BY id DESC LIMIT $8`,
    [company_id, since_ms, until_ms, actor, action, subject, before_id, limit],
  )
  return rows
}

/** Pages of entries, up to the limit of a CSV. */
export async function* pageAuditLog(pool: Pool, filter: AuditFilter): AsyncGenerator<AuditEntry[]> {
  let left = limits.audit_log_csv_max
  let before_id = filter.before_id
  while (left > 0) {
    const limit = Math.min(left, limits.audit_log_page_max)
    const page = await readAuditLog(pool, { ...filter, before_id, limit })
    if (page.length > 0) yield page
    if (page.length < limit) return
    left -= page.length
    before_id = page.at(-1)?.id
  }
}
