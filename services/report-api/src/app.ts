import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import { type ReportMeta, type ReportName, report_path, reportRoutes } from '@tributary/contracts/reports'
import type { Routes } from '@tributary/contracts/route'
import type { FxRates } from '@tributary/tenancy/fx-rates'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Counter, Histogram } from 'prom-client'
import { type AuthorizeDeps, createAuthorize } from './authorize.ts'
import { installRoute, installRoutes } from './install-route.ts'
import { parseParameters } from './parameters.ts'
import { matureUntil, type Report } from './report.ts'
import { attributionReport } from './reports/attribution.ts'
import { cohortsReport } from './reports/cohorts.ts'
import { eventsReport } from './reports/events.ts'
import { ltvReport } from './reports/ltv.ts'
import { revenueReport } from './reports/revenue.ts'
import { createRunInTurn } from './run-in-turn.ts'

export interface ReportApiDeps extends AuthorizeDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  /** True if `clickhouse` is the engine in this process, which runs fewer reports at once than a server. */
  embedded?: boolean
  fxRates: FxRates
  logger: Logger
}

/** Each declared report with what answers it: one without the other does not compile. */
const reports: { readonly [Name in ReportName]: Report<Name> } = {
  attribution: attributionReport,
  revenue: revenueReport,
  cohorts: cohortsReport,
  events: eventsReport,
  ltv: ltvReport,
}
const prefix = report_path.replace('/:report', '')

/** The routes of this service. */
export const declaredRoutes = { ...reportRoutes, ...installRoutes } satisfies Routes

/** GET /api/v1/reports/:report (docs/rules.md#endpoints) and GET /api/v1/installs/:install_uuid. */
export const reportApi =
  (deps: ReportApiDeps): FastifyPluginAsync =>
  async (root) => {
    const { fxRates, now, registry, logger } = deps
    const authorize = createAuthorize(deps)
    const runInTurn = createRunInTurn(deps)
    const seconds = new Histogram({
      name: 'tributary_report_seconds',
      help: 'Time from an accepted report request to its rows, waiting included.',
      labelNames: ['report'],
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers: [registry],
    })
    const missingRates = new Counter({
      name: 'tributary_report_missing_rates_total',
      help: 'Answered reports that lack money of a currency, since it has no exchange rate.',
      labelNames: ['currency'],
      registers: [registry],
    })
    installRoute(root, { authorize, runInTurn })
    await root.register(
      async (app) => {
        // docs/rules.md#report-requests gives the order: path, method, key, its company, its scope, rate,
        // parameters. Path and method are checked before a body is read, so a body never decides the answer.
        app.addHook('onRequest', async (request) => {
          findReport(request)
          if (request.method !== 'GET') throw new CodedError('method_not_allowed', { headers: { allow: 'GET' } })
        })
        app.setNotFoundHandler(() => {
          throw new CodedError('unknown_report')
        })
        app.get('/:report', async (request, reply) => {
          const { name, report } = findReport(request)
          const key = await authorize(request, reply)
          const { app_id, key_id } = key
          const asked_at_ms = now()
          const { page, ...asked } = parseParameters(name, request.query as Record<string, unknown>, asked_at_ms)
          const started = performance.now()
          const { rows, missing_rates } = await runInTurn(key, reply, (clickhouse) =>
            report({ clickhouse, fxRates }, { app_id, ...page, ...asked }),
          )
          const elapsed_ms = Math.round(performance.now() - started)
          seconds.observe({ report: name }, elapsed_ms / 1000)
          for (const currency of missing_rates) missingRates.inc({ currency })
          logger.info(
            { request_id: request.id, report: name, app_id, key_id, rows: rows.length, elapsed_ms },
            'report answered',
          )
          const lacking = missing_rates.length > 0 && { missing_rates }
          const mature_until_ms = matureUntil(name, asked.days, asked_at_ms)
          return { rows, meta: { ...page, elapsed_ms, mature_until_ms, ...lacking } satisfies ReportMeta }
        })
      },
      { prefix },
    )
  }

/** The report in the path; the method may be one that no route has. Throws `unknown_report`. */
function findReport(request: FastifyRequest): { name: ReportName; report: Report<ReportName> } {
  const path = request.url.split('?', 1)[0] ?? ''
  const name = path.slice(prefix.length + 1)
  if (!Object.hasOwn(reports, name)) throw new CodedError('unknown_report')
  return { name: name as ReportName, report: reports[name as ReportName] }
}
