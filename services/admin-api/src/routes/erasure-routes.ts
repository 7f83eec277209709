import { setTimeout } from 'node:timers/promises'
import { erasureRoutes } from '@tributary/contracts/admin/erasures'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { findCertificate } from '@tributary/erasure/find-certificate'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { findRun, requestRun } from '@tributary/erasure/runs'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Between two looks whether a run has ended. */
const look_pause_ms = 100

/** Requests of erasures, their certificates, and runs of the eraser, which is a service of its own. */
export function addErasureRoutes(app: FastifyInstance, { pool, masterKeys, now }: AdminApiDeps): void {
  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort())

  addRoute(app, erasureRoutes.requestErasure, async ({ body: { app_id, install_uuid } }, request) => {
    const asked = { app_id, install_uuid, requested_at_ms: now(), asked_by: 'admin' as const }
    const left = (await queueErasures({ pool, masterKeys }, [asked])).get(asked)
    if (left === 'unknown_app') throw new CodedError('unknown_app')
    if (left !== undefined) throw new Error(`The request could not be queued: ${left}.`)
    // Without the id, which has to go.
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
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signal = AbortSignal.any([stop.signal, left.signal, AbortSignal.timeout(limits.erasure_run_wait_ms_max)])
    for (;;) {
      const found = await findRun(pool, run)
      if (found === null) throw new CodedError('unknown_erasure')
      if (found.done || signal.aborted) return found
      await setTimeout(look_pause_ms, undefined, { signal }).catch(() => {})
    }
  })
}
