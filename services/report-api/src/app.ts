import { rowRoutes } from '@tributary/contracts/admin/rows/row-routes'
import { CodedError } from '@tributary/contracts/errors'
import { rawRoutes } from '@tributary/contracts/raw-tables'
import { report_path, reportRoutes } from '@tributary/contracts/reports'
import type { Routes } from '@tributary/contracts/route'
import { pathOf } from '@tributary/service-kit/http/allowed-methods'
import { countersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import { createKeyRate } from '@tributary/tenancy/quota/key-rate'
import type { FastifyPluginAsync } from 'fastify'
import type { Logger } from 'pino'
import { createAnswerReport, getReportName, unknownReport } from './answers/answer-report.ts'
import { compressAnswers } from './answers/compress.ts'
import { type AuthorizeDeps, createAuthorize, readsRaw } from './authorize.ts'
import { installRoute, installRoutes } from './install-route.ts'
import { type PeopleDeps, peopleApi } from './people/people-api.ts'
import { type RawDeps, rawRoute } from './raw/raw-route.ts'
import type { ReportSources } from './report.ts'
import { createRunInTurn } from './turns/run-in-turn.ts'

export interface ReportApiDeps extends AuthorizeDeps, ReportSources {
  /** True if `clickhouse` is the engine in this process, which runs fewer reports at once than a server. */
  embedded?: boolean
  logger: Logger
  /** Absent: nobody signs in here, and there is nothing below `/admin/api/v1`. */
  people?: PeopleDeps
  /** Absent: there is nothing below `/api/v1/raw`. */
  raw?: RawDeps
}

const prefix = report_path.replace('/:report', '')

/** The routes of this service. */
export const declaredRoutes = { ...reportRoutes, ...installRoutes, ...rawRoutes, ...rowRoutes } satisfies Routes

/**
 * GET /api/v1/reports/:report (docs/rules.md#endpoints) and GET /api/v1/installs/:install_uuid for server keys, and the same for
 * people below `/admin/api/v1/apps/:app_id`.
 */
export const reportApi =
  (deps: ReportApiDeps): FastifyPluginAsync =>
  async (root) => {
    const keyRate = createKeyRate({ ...deps, breaker: countersBreaker(deps.now) })
    const authorize = createAuthorize(deps, keyRate)
    const runInTurn = createRunInTurn(deps)
    const answerReport = createAnswerReport({ ...deps, runInTurn })
    compressAnswers(root)
    installRoute(root, { authorize, runInTurn })
    if (deps.raw) rawRoute(root, { ...deps, ...deps.raw, authorize: createAuthorize(deps, keyRate, readsRaw) })
    if (deps.people) await root.register(peopleApi({ ...deps, ...deps.people, keyRate, runInTurn, answerReport }))
    await root.register(
      async (app) => {
        // docs/rules.md#report-requests gives the order: path, method, key, its company, rate, its scope,
        // parameters. Path and method are checked before a body is read, so a body never decides the answer.
        // The method may be one that no route has, so the path is read rather than a parameter.
        const reportIn = (url: string) => getReportName(pathOf(url).slice(prefix.length + 1))
        app.addHook('onRequest', async (request) => {
          reportIn(request.url)
          if (request.method !== 'GET') throw new CodedError('method_not_allowed', { headers: { allow: 'GET' } })
        })
        app.setNotFoundHandler(() => {
          throw unknownReport()
        })
        app.get('/:report', async (request, reply) => {
          const name = reportIn(request.url)
          return answerReport(name, await authorize(request, reply), request, reply)
        })
      },
      { prefix },
    )
  }
