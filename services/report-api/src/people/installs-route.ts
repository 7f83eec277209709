import { addRoute } from '@tributary/admin-http/add-route'
import { type AppInstallsQuery, appInstallRoutes } from '@tributary/contracts/admin/rows/installs'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import { type InstallPosition, listInstalls } from '@tributary/tables/rows/list-installs'
import type { FastifyInstance } from 'fastify'
import { getInstall } from '../install-route.ts'
import type { RunInTurn } from '../turns/run-in-turn.ts'
import type { GetReader } from './app-reader.ts'

interface RowDeps {
  getReader: GetReader
  runInTurn: RunInTurn
  now: () => number
}

/** Installs of an app: a page of them, and what is known of one. */
export function addInstallRoutes(app: FastifyInstance, { getReader, runInTurn, now }: RowDeps): void {
  addRoute(app, appInstallRoutes.listAppInstalls, async ({ query }, request, reply) => {
    const reader = await getReader(request)
    const { limit, cursor, since_ms: _since, until_ms: _until, ...filter } = query
    const window = windowOf(query, now())
    const after = cursor === undefined ? null : readCursor(cursor)
    const found = await runInTurn(reader, reply, (clickhouse) =>
      listInstalls(clickhouse, { ...filter, ...window, app_id: reader.app_id }, { limit: limit + 1, after }),
    )
    const installs = found.slice(0, limit)
    const last = found.length > limit ? installs.at(-1) : undefined
    return { installs, next_cursor: last === undefined ? null : `${last.installed_at_ms}.${last.install_uuid}` }
  })
  addRoute(app, appInstallRoutes.getAppInstall, async ({ params }, request, reply) =>
    getInstall(runInTurn, await getReader(request), reply, params.install_uuid),
  )
}

/** The window of a query for rows. Throws `invalid_field`. */
export function windowOf(given: Pick<AppInstallsQuery, 'since_ms' | 'until_ms'>, now_ms: number) {
  const { until_ms = now_ms, since_ms = until_ms - limits.report_window_default_ms } = given
  const wrong = (message: string) => new CodedError('invalid_field', { field: 'since_ms', message })
  if (since_ms >= until_ms) throw wrong('It must be before until_ms.')
  if (until_ms - since_ms > limits.report_window_days_max * day_ms)
    throw wrong(`The window may be ${limits.report_window_days_max} days long at most.`)
  return { since_ms, until_ms }
}

function readCursor(cursor: string): InstallPosition {
  const [, at, install_uuid] = /^(\d{1,15})\.([A-Za-z0-9_-]{1,64})$/.exec(cursor) ?? []
  if (at === undefined || install_uuid === undefined)
    throw new CodedError('invalid_field', { field: 'cursor', message: 'It must be next_cursor of the page before.' })
  return { installed_at_ms: Number(at), install_uuid }
}
