import { CodedError } from '@tributary/contracts/errors'
import { type ReportName, report_path, reportNames, reportRoutes } from '@tributary/contracts/reports'
import type { Routes } from '@tributary/contracts/route'
import { pathOf } from '@tributary/service-kit/http/allowed-methods'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { preferredFormat, type Totals } from './answers/answer.ts'
import { answerCsv } from './answers/answer-csv.ts'
import { answerJson } from './answers/answer-json.ts'
import { addVary, compressAnswers } from './answers/compress.ts'
import { countAnswers } from './answers/count-answers.ts'
import { type AuthorizeDeps, createAuthorize } from './authorize.ts'
import { installRoute, installRoutes } from './install-route.ts'
import { parseParameters, type ReportPage } from './parameters.ts'
import type { Report, ReportSources } from './report.ts'
import { attributionReport } from './reports/attribution.ts'
import { cohortsReport } from './reports/cohorts.ts'
import { eventsReport } from './reports/events.ts'
import { ltvReport } from './reports/ltv.ts'
import { revenueReport } from './reports/revenue.ts'
import { skanReport } from './reports/skan.ts'
import { createRunInTurn } from './turns/run-in-turn.ts'

export interface ReportApiDeps extends AuthorizeDeps, ReportSources {
  /** True if `clickhouse` is the engine in this process, which runs fewer reports at once than a server. */
  embedded?: boolean
  logger: Logger
}

/** Each declared report with what answers it: one without the other does not compile. */
const reports: { readonly [Name in ReportName]: Report<Name> } = {
  attribution: attributionReport,
  revenue: revenueReport,
  cohorts: cohortsReport,
  events: eventsReport,
  skan: skanReport,
  ltv: ltvReport,
}
const prefix = report_path.replace('/:report', '')

/** The routes of this service. */
export const declaredRoutes = { ...reportRoutes, ...installRoutes } satisfies Routes

/** GET /api/v1/reports/:report (docs/rules.md#endpoints) and GET /api/v1/installs/:install_uuid. */
export const reportApi =
  (deps: ReportApiDeps): FastifyPluginAsync =>
  async (root) => {
    const { now } = deps
    const authorize = createAuthorize(deps)
    const runInTurn = createRunInTurn(deps)
    const count = countAnswers(deps)
    compressAnswers(root)
    installRoute(root, { authorize, runInTurn })
    await root.register(
      async (app) => {
        // docs/rules.md#report-requests gives the order: path, method, key, its company, rate, its scope,
        // parameters. Path and method are checked before a body is read, so a body never decides the answer.
        app.addHook('onRequest', async (request) => {
          findReport(request)
          if (request.method !== 'GET') throw new CodedError('method_not_allowed', { headers: { allow: 'GET' } })
        })
        app.setNotFoundHandler(() => {
          throw unknownReport()
        })
        app.get('/:report', async (request, reply) => {
          const { name, report } = findReport(request)
          const key = await authorize(request, reply)
          const now_ms = now()
          const requested = parseParameters(name, request.query as Record<string, unknown>, now_ms)
          const { page: _page, filters, group, days, format = preferredFormat(request) } = requested
          addVary(reply, 'Accept')
          reply.header('cache-control', 'private, no-cache')
          const { app_id, key_id } = key
          const count_rows = format === 'json' || !requested.all_rows // a file is read page by page, and nobody counts it
          let asked = 0
          const readPage = async (page: ReportPage) => {
            const started = performance.now()
            const work = (clickhouse: ReportSources['clickhouse']) =>
              report({ ...deps, clickhouse }, { app_id, ...page, count_rows, filters, group, days })
            const result = await runInTurn(key, reply, work, asked++ > 0)
            return { ...result, elapsed_ms: Math.round(performance.now() - started) }
          }
          const line = { request_id: request.id, report: name, format, app_id, key_id }
          const close = (totals: Totals) => count(line, totals)
          const answer = { name, requested, request, reply, now_ms, readPage, close }
          return format === 'csv' ? answerCsv(answer) : answerJson(answer)
        })
      },
      { prefix },
    )
  }

/** The report in the path; the method may be one that no route has. Throws `unknown_report`. */
function findReport(request: FastifyRequest): { name: ReportName; report: Report<ReportName> } {
  const name = pathOf(request.url).slice(prefix.length + 1)
  if (!Object.hasOwn(reports, name)) throw unknownReport()
  return { name: name as ReportName, report: reports[name as ReportName] }
}

const unknownReport = () => new CodedError('unknown_report', { message: `Reports: ${reportNames.join(', ')}.` })
