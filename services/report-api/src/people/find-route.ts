import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import { findRoutes } from '@tributary/contracts/admin/rows/find'
import { limits } from '@tributary/contracts/limits'
import { findEvents } from '@tributary/tables/rows/find-events'
import { findIds } from '@tributary/tables/rows/find-ids'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { oneAtATime } from '../turns/one-at-a-time.ts'
import type { RunInTurn } from '../turns/run-in-turn.ts'
import type { GetReader } from './app-reader.ts'

interface FindDeps {
  pool: Pool
  getReader: GetReader
  runInTurn: RunInTurn
  now: () => number
}

/**
 * What an id is. Each look-up is in `admin_audit_log` before anything is shown, without the id: an erasure could not take it from
 * there.
 */
export function addFindRoute(app: FastifyInstance, { pool, getReader, runInTurn, now }: FindDeps): void {
  const runAlone = oneAtATime(runInTurn)
  addRoute(app, findRoutes.findInApp, async ({ query }, request, reply) => {
    const reader = await getReader(request)
    const { app_id } = reader
    const asked = { app_id, id: query.q }
    const { ids, events } = await runAlone(reader, reply, async (clickhouse) => {
      const over_ms = performance.now() + limits.find_ms_max
      const ids = await findIds(clickhouse, asked)
      return { ids, events: await findEvents(clickhouse, asked, () => performance.now() >= over_ms) }
    })
    const found = [...ids, ...events.found]
    const detail = { found: [...new Set(found.map(({ kind }) => kind))] }
    await recordAdminAction(pool, adminRequest(request, now), { action: 'rows.find', subject: app_id, detail })
    return { found, events_since: events.events_since }
  })
}
