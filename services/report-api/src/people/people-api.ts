import { randomBytes } from 'node:crypto'
import { admit } from '@tributary/admin-http/admit'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { anyAppReport } from '@tributary/contracts/admin/rows/app-reports'
import type { Sessions } from '@tributary/tenancy/people/sessions/session-cache'
import type { KeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyPluginAsync } from 'fastify'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { type AnswerReport, getReportName } from '../answers/answer-report.ts'
import type { AuthorizeDeps } from '../authorize.ts'
import type { ReportSources } from '../report.ts'
import type { RunInTurn } from '../turns/run-in-turn.ts'
import { createReaders } from './app-reader.ts'
import { addClickRoutes } from './click-routes.ts'
import { addFindRoute } from './find-route.ts'
import { addInstallRoutes } from './installs-route.ts'
import { addOverviewRoutes } from './overview-routes.ts'
import { addWhatIfRoute } from './what-if-route.ts'

/** How callers of the admin API are known, and what only they read. */
export interface PeopleDeps {
  clickhouse: Pick<Clickhouse, 'query' | 'stream'>
  pool: Pool
  sessions: Pick<Sessions, 'find'>
  /** Absent: no token opens anything here. */
  admin_token?: string | undefined
  /** `TRIBUTARY_ADMIN_URL`: where browsers reach the panel. */
  admin_url?: string | undefined
  trusted_proxies?: readonly string[]
}

interface PeopleApiDeps extends PeopleDeps, Omit<AuthorizeDeps, 'credentials'>, Omit<ReportSources, 'clickhouse'> {
  logger: Logger
  keyRate: KeyRate
  runInTurn: RunInTurn
  answerReport: AnswerReport
}

/** Reports and rows for people, below `/admin/api/v1`. A person with a role that reads over an app sees what its keys see. */
export function peopleApi(deps: PeopleApiDeps): FastifyPluginAsync {
  const readers = createReaders(deps)
  const rows = { ...deps, ...readers }
  return async (app) => {
    admit(app, { ...deps, admin_token: deps.admin_token ?? randomBytes(32).toString('hex') })
    app.get<{ Params: { report: string } }>(
      anyAppReport.path,
      { config: { declared: anyAppReport } },
      async (request, reply) => {
        const reader = await readers.getReader(request)
        return deps.answerReport(getReportName(request.params.report), reader, request, reply)
      },
    )
    addInstallRoutes(app, rows)
    addFindRoute(app, rows)
    addOverviewRoutes(app, rows)
    addClickRoutes(app, rows)
    addWhatIfRoute(app, rows)
  }
}
