import { addRoute } from '@tributary/admin-http/add-route'
import { appInstallRoutes } from '@tributary/contracts/admin/rows/installs'
import { listInstalls } from '@tributary/tables/rows/list-installs'
import type { FastifyInstance } from 'fastify'
import { getInstall } from '../install-route.ts'
import type { RunInTurn } from '../turns/run-in-turn.ts'
import type { GetReader } from './app-reader.ts'
import { pageOf, readCursor, windowOf } from './row-window.ts'

export interface RowDeps {
  getReader: GetReader
  runInTurn: RunInTurn
  now: () => number
}

/** Installs of an app: a page of them, and what is known of one. */
export function addInstallRoutes(app: FastifyInstance, { getReader, runInTurn, now }: RowDeps): void {
  addRoute(app, appInstallRoutes.listAppInstalls, async ({ query }, request, reply) => {
    const reader = await getReader(request)
    const { limit, cursor, since_ms: _since, until_ms: _until, ...filter } = query
    const asked = { ...filter, ...windowOf(query, now()), app_id: reader.app_id }
    const from = readCursor(cursor)
    const after = from && { installed_at_ms: from.at_ms, install_uuid: from.id }
    const found = await runInTurn(reader, reply, (clickhouse) =>
      listInstalls(clickhouse, asked, { limit: limit + 1, after }),
    )
    const { page, next_cursor } = pageOf(found, limit, ({ installed_at_ms: at_ms, install_uuid: id }) => ({
      at_ms,
      id,
    }))
    return { installs: page, next_cursor }
  })
  addRoute(app, appInstallRoutes.getAppInstall, async ({ params }, request, reply) =>
    getInstall(runInTurn, await getReader(request), reply, params.install_uuid),
  )
}
