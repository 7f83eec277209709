import { addRoute } from '@tributary/admin-http/add-route'
import { clickRoutes } from '@tributary/contracts/admin/rows/clicks'
import { idShape } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms } from '@tributary/contracts/limits'
import { countFilteredClicks, countFlaggedInstalls } from '@tributary/tables/rows/count-fraud'
import { countLinkClicks, listLinkClicks } from '@tributary/tables/rows/link-clicks'
import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { RowDeps } from './installs-route.ts'
import { pageOf, readCursor, windowOf } from './row-window.ts'

const period_ms = { hour: 3600 * 1000, day: day_ms }

/** Clicks of a tracking link, and what was flagged and filtered of an app. */
export function addClickRoutes(
  app: FastifyInstance,
  { pool, getReader, runInTurn, now }: RowDeps & { pool: Pool },
): void {
  addRoute(app, clickRoutes.listLinkClicks, async ({ params: { link_id }, query }, request, reply) => {
    const reader = await getReader(request)
    const { limit, cursor, group } = query
    const window = { app_id: reader.app_id, ...windowOf(query, now()) }
    const from = readCursor(cursor)
    const after = from && { clicked_at_ms: from.at_ms, click_id: from.id }
    const filter = { ...window, link_id, partner: await getPartner(pool, reader.app_id, link_id) }
    const { counts, found } = await runInTurn(reader, reply, async (clickhouse) => ({
      counts: await countLinkClicks(clickhouse, filter, period_ms[group]),
      found: await listLinkClicks(clickhouse, filter, { limit: limit + 1, after }),
    }))
    const { page, next_cursor } = pageOf(found, limit, ({ clicked_at_ms: at_ms, click_id: id }) => ({ at_ms, id }))
    return { counts, clicks: page, next_cursor }
  })
  addRoute(app, clickRoutes.getFraud, async ({ query }, request, reply) => {
    const reader = await getReader(request)
    const window = { app_id: reader.app_id, ...windowOf(query, now()) }
    return runInTurn(reader, reply, async (clickhouse) => ({
      installs: await countFlaggedInstalls(clickhouse, window),
      clicks: await countFilteredClicks(clickhouse, window),
    }))
  })
}

/** The partner of a link of an app. Throws `unknown_link`. */
async function getPartner(pool: Pool, app_id: string, link_id: string): Promise<string> {
  const { rows } = idShape.test(link_id)
    ? await pool.query<{ partner: string }>('SELECT partner FROM links WHERE link_id = $1 AND app_id = $2', [
        link_id,
        app_id,
      ])
    : { rows: [] }
  if (rows[0] === undefined) throw new CodedError('unknown_link')
  return rows[0].partner
}
