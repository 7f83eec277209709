import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import type { ReportMeta, ReportName } from '@tributary/contracts/reports'
import type { FxRates } from '@tributary/postgres/fx-rates'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Counter, Histogram } from 'prom-client'
import { type AuthorizeDeps, createAuthorize } from './authorize.ts'
import { installRoute } from './install-route.ts'
import { parseParameters } from './parameters.ts'
import type { Report } from './report.ts'
import { eventsReport } from './reports/events.ts'

export interface ReportApiDeps extends AuthorizeDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  fxRates: FxRates
  logger: Logger
}

const reports: ReadonlyMap<string, Report<unknown>> = new Map<ReportName, Report<unknown>>([['events', eventsReport]])
const prefix = '/api/v1/reports'

/** GET /api/v1/reports/:report (interface.md "Reporting endpoints") and GET /api/v1/installs/:install_uuid. */
export const reportApi =
  (deps: ReportApiDeps): FastifyPluginAsync =>
  async (root) => {
    const { clickhouse, fxRates, now, registry, logger } = deps
    const authorize = createAuthorize(deps)
    const seconds = new Histogram({
      name: 'tributary_report_seconds',
      help: 'Time from an accepted report request to its rows.',
      labelNames: ['report'],
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers: [registry],
    })
    const missingRates = new Counter({
      name: 'tributary_report_missing_rates_total',
      help: 'Amounts of answered reports that brought no USD, since their currency has no rate.',
      labelNames: ['currency'],
      registers: [registry],
    })
    const sources = { clickhouse, fxRates, onMissingRate: (currency: string) => missingRates.inc({ currency }) }
    installRoute(root, clickhouse, authorize)
    await root.register(
      async (app) => {
        // Order of decisions.md "Report requests": path, method, key, rate, parameters. In onRequest, so that no body
        // is read before and no body decides the answer.
        app.addHook('onRequest', async (request) => {
          findReport(request)
          if (request.method !== 'GET') throw new CodedError('method_not_allowed', { headers: { allow: 'GET' } })
        })
        app.setNotFoundHandler(() => {
          throw new CodedError('unknown_report')
        })
        app.get('/:report', async (request, reply) => {
          const { name, report } = findReport(request)
          const { app_id, key_id } = await authorize(request, reply)
          const parameters = parseParameters(request.query as Record<string, unknown>, now())
          const started = performance.now()
          const rows = await report(sources, { app_id, ...parameters })
          const elapsed_ms = Math.round(performance.now() - started)
          seconds.observe({ report: name }, elapsed_ms / 1000)
          logger.info(
            { request_id: request.id, report: name, app_id, key_id, rows: rows.length, elapsed_ms },
            'report answered',
          )
          return { rows, meta: { ...parameters, elapsed_ms } satisfies ReportMeta }
        })
      },
      { prefix },
    )
  }

/** The report that the path names, also for a method that no route has. Throws `unknown_report`. */
function findReport(request: FastifyRequest): { name: string; report: Report<unknown> } {
  const path = request.url.split('?', 1)[0] ?? ''
  const name = path.slice(prefix.length + 1)
  const report = reports.get(name)
  if (report === undefined) throw new CodedError('unknown_report')
  return { name, report }
}
