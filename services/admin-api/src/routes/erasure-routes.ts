import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { erasureRoutes } from '@tributary/contracts/admin/erasures'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { type AskedErasure, auditedErasure } from '@tributary/domain/erasure/audited-request'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import type { AdminApiDeps } from '../deps.ts'
import { looksUntil } from '../look-until.ts'

/** Requests of erasures, their certificates, and runs of the eraser, which is a service of its own. */
export function addErasureRoutes(app: FastifyInstance, { pool, masterKeys, audit, now }: AdminApiDeps): void {
  const lookUntil = looksUntil(app)
  addRoute(app, erasureRoutes.requestErasure, async ({ body: { app_id, install_uuid } }, request) => {
    const company_id = await findCompany(pool, app_id)
    if (company_id === null) throw new CodedError('unknown_app')
    const requested_at_ms = now()
    // The proof first: it outlives a PostgreSQL that is put back (docs/decisions/erasure.md#an-erasure-request-is-a-cutoff).
    await putRequest(audit, { v: 1, company_id, app_id, install_uuid, requested_at_ms })
    const asked = { app_id, install_uuid, requested_at_ms, asked_by: 'admin' as const }
    const left = (await queueErasures({ pool, masterKeys }, [asked])).get(asked)
    if (left === 'unknown_app') throw new CodedError('unknown_app')
    if (left === 'salt_unreadable') throw new CodedError('unavailable', { message: salt_unreadable_message })
    // The entry lacks the id, which has to go.
    const entry = { action: 'erasure.request', subject: app_id, detail: {} }
    await recordAdminAction(pool, adminRequest(request, now), entry)
    return { queued: true as const }
  })
  addRoute(app, erasureRoutes.getErasure, async ({ query: { app_id, install_uuid } }) => {
    const certificate = await findCertificate({ pool, masterKeys }, app_id, install_uuid)
    if (certificate === null) throw new CodedError('unknown_erasure')
    return certificate
  })
  addRoute(app, erasureRoutes.runErasures, async ({ body }, request, reply) => {
    const run = body.run ?? (await requestRun(pool, now()))
    if (body.run === undefined)
      await recordAdminAction(pool, adminRequest(request, now), {
        action: 'erasure.run',
        subject: `${run}`,
        detail: {},
      })
    const wait_ms_max = limits.erasure_run_wait_ms_max
    const found = await lookUntil(
      reply,
      wait_ms_max,
      () => findRun(pool, run),
      (one) => one === null || one.done,
    )
    if (found === null) throw new CodedError('unknown_erasure')
    return found
  })
}

const salt_unreadable_message =
  'The salt of the company cannot be decrypted, so the request is not queued. `tributary doctor` names the master key.'

async function findCompany(pool: AdminApiDeps['pool'], app_id: string): Promise<string | null> {
  const { rows } = await pool.query<{ company_id: string }>('SELECT company_id FROM apps WHERE app_id = $1', [app_id])
  return rows[0]?.company_id ?? null
}

/** Throws `unavailable` when the object is not durable. */
async function putRequest(audit: AdminApiDeps['audit'], asked: AskedErasure): Promise<void> {
  const { stored_key, content } = auditedErasure(asked)
  await audit.putOnce(stored_key, content).catch((cause: unknown) => {
    throw new CodedError('unavailable', { message: 'The audit store is away.', cause })
  })
}
