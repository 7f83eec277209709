import { hash } from 'node:crypto'
import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { rewritten_header, storedDataRoutes } from '@tributary/contracts/admin/stored-data'
import { CodedError } from '@tributary/contracts/errors'
import { rewrittenAt } from '@tributary/erasure/audit/rewritten-mark'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { findStoredObject } from './audit-key.ts'

/**
 * What an `audit_key` stands for (`?key=...`, for all but SDK requests also `&app_id=...`). JSON, or one line of JSON
 * for each request: those come with `Content-Encoding: gzip` as they are stored, at most a few MiB here however large
 * they inflate. A header says when the object was rewritten. It is customers' data, so each look is in `admin_audit_log`
 * before anything is shown.
 */
export function addAuditObjectRoute(app: FastifyInstance, { pool, audit, now }: AdminApiDeps): void {
  addRoute(app, storedDataRoutes.getAuditObject, async ({ query }, request, reply) => {
    const { key, app_id, lines } = findStoredObject(query.key, query.app_id)
    const content = await audit.get(key).catch((cause: unknown) => {
      throw new CodedError('unavailable', { message: 'The audit store is away.', cause })
    })
    if (content === null) throw new CodedError('unknown_audit_key')
    const seen = { action: 'audit_object.read', subject: app_id, detail: lines ? { key } : withoutName(query.key, key) }
    await recordAdminAction(pool, adminRequest(request, now), seen)
    reply.header('cache-control', 'no-store')
    const rewritten_at_ms = rewrittenAt(content)
    if (rewritten_at_ms !== null) reply.header(rewritten_header, String(rewritten_at_ms))
    if (lines) reply.header('content-encoding', 'gzip')
    return reply.type(lines ? 'application/x-ndjson; charset=utf-8' : 'application/json; charset=utf-8').send(content)
  })
}

/**
 * Names an object by the hash of its key: the name of a single object holds an `event_id` or an `install_uuid`, which an
 * erasure could not take from the audit log. The SHA-256 of `<app_id>/<audit_key>` finds its looks.
 */
const withoutName = (audit_key: string, stored_key: string) => ({
  folder: audit_key.slice(0, audit_key.lastIndexOf('/') + 1),
  key_sha256: hash('sha256', stored_key),
})
