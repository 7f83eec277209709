import { Readable } from 'node:stream'
import { addRoute } from '@tributary/admin-http/add-route'
import { type AuditEntry, auditLogRoutes } from '@tributary/contracts/admin/people/audit-log'
import { csv_type, csvLine, csvLines } from '@tributary/service-kit/http/csv'
import { pageAuditLog, readAuditLog } from '@tributary/tenancy/people/audit-log'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'

const columns = [
  ...['id', 'at_ms', 'actor', 'person_id', 'ip', 'action', 'subject', 'company_id', 'before', 'after', 'request_id'],
] as const satisfies readonly string[]

/** Who did what: a page as JSON, or all of it as CSV. */
export function addAuditLogRoute(app: FastifyInstance, { pool, logger }: Pick<AdminApiDeps, 'pool' | 'logger'>): void {
  addRoute(app, auditLogRoutes.readAuditLog, async ({ query: { format, ...filter } }, _request, reply) => {
    const entries = await readAuditLog(pool, filter)
    const last: AuditEntry | undefined = entries.at(-1)
    if (format === 'json') return { entries, next_before_id: entries.length < filter.limit ? null : (last?.id ?? null) }
    async function* lines() {
      yield csvLine(columns)
      try {
        for await (const page of pageAuditLog(pool, filter)) yield csvLines(columns, page)
      } catch (err) {
        logger.error({ err }, 'the audit log as CSV broke off')
        throw err
      }
    }
    return reply.type(csv_type).send(Readable.from(lines()))
  })
}
