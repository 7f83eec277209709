import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import type { ReportMeta, ReportName } from '@tributary/contracts/reports'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Credentials, ServerKeyCredential } from '@tributary/postgres/credentials'
import { bearerToken } from '@tributary/service-kit/http'
import { createKeyRate } from '@tributary/service-kit/key-rate'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Histogram, type Registry } from 'prom-client'
import { parseParameters } from './parameters.ts'
import type { Report } from './report.ts'
import { eventsReport } from './reports/events.ts'

export interface ReportApiDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  credentials: Pick<Credentials, 'findServerKey'>
  /** Counts the requests of a key. */
  keyValue: Pick<KeyValue, 'hitWindow'>
  now: () => number
  registry: Registry
  logger: Logger
}

const reports: ReadonlyMap<string, Report<unknown>> = new Map<ReportName, Report<unknown>>([['events', eventsReport]])
const prefix = '/api/v1/reports'

/** GET /api/v1/reports/:report (interface.md "Reporting endpoints"). A key sees the app that it is bound to, no other. */
export const reportApi =
  ({ clickhouse, credentials, keyValue, now, registry, logger }: ReportApiDeps): FastifyPluginAsync =>
  async (root) => {
    const keyRate = createKeyRate({ keyValue, now, registry })
    const seconds = new Histogram({
      name: 'tributary_report_seconds',
      help: 'Time from an accepted report request to its rows.',
      labelNames: ['report'],
      buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
      registers: [registry],
    })
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
          const { app_id, key_id } = await authorize(request, credentials)
          reply.headers(await keyRate.spend(key_id))
          const parameters = parseParameters(request.query as Record<string, unknown>, now())
          const started = performance.now()
          const rows = await report(clickhouse, { app_id, ...parameters })
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

async function authorize(
  request: FastifyRequest,
  credentials: ReportApiDeps['credentials'],
): Promise<ServerKeyCredential> {
  const key = await credentials.findServerKey(bearerToken(request.headers.authorization))
  if (key === null) throw new CodedError('invalid_or_revoked_key')
  if (key.company_status === 'suspended') throw new CodedError('company_suspended')
  return key
}
