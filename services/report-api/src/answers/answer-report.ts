import { CodedError } from '@tributary/contracts/errors'
import { type ReportName, reportNames } from '@tributary/contracts/reports'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { parseParameters, type ReportPage } from '../parameters.ts'
import type { Report, ReportSources } from '../report.ts'
import { attributionReport } from '../reports/attribution.ts'
import { cohortsReport } from '../reports/cohorts.ts'
import { costsReport } from '../reports/costs.ts'
import { eventsReport } from '../reports/events.ts'
import { ltvReport } from '../reports/ltv.ts'
import { performanceReport } from '../reports/performance.ts'
import { receiptsReport } from '../reports/receipts.ts'
import { revenueReport } from '../reports/revenue.ts'
import { skanReport } from '../reports/skan.ts'
import type { Owner } from '../turns/fair-pool.ts'
import type { RunInTurn } from '../turns/run-in-turn.ts'
import { preferredFormat, type Totals } from './answer.ts'
import { answerCsv } from './answer-csv.ts'
import { answerJson } from './answer-json.ts'
import { addVary } from './compress.ts'
import { countAnswers } from './count-answers.ts'

/** Each declared report with what answers it: one without the other does not compile. */
const answeredReports: { readonly [Name in ReportName]: Report<Name> } = {
  attribution: attributionReport,
  revenue: revenueReport,
  cohorts: cohortsReport,
  costs: costsReport,
  events: eventsReport,
  skan: skanReport,
  ltv: ltvReport,
  performance: performanceReport,
  receipts: receiptsReport,
}

/** An app, and the key or the person who reads its data. */
export interface AppReader extends Owner {
  app_id: string
}

interface AnswerReportDeps extends ReportSources {
  runInTurn: RunInTurn
  now: () => number
  logger: Logger
  registry: Registry
}

/** Answers a request for a report of an app, as its parameters say. */
export type AnswerReport = (
  name: ReportName,
  reader: AppReader,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<unknown>

/** One way to answer reports, for server keys and for people. */
export function createAnswerReport(deps: AnswerReportDeps): AnswerReport {
  const { now, runInTurn } = deps
  const count = countAnswers(deps)
  return async (name, reader, request, reply) => {
    const report: Report<ReportName> = answeredReports[name]
    const now_ms = now()
    const requested = parseParameters(name, request.query as Record<string, unknown>, now_ms)
    const { page: _page, filters, group, days, by, sort, format = preferredFormat(request) } = requested
    addVary(reply, 'Accept')
    reply.header('cache-control', 'private, no-cache')
    const { app_id, key_id } = reader
    const count_rows = format === 'json' || !requested.all_rows // a file is read page by page, and nobody counts it
    let asked = 0
    const readPage = async (page: ReportPage) => {
      const started = performance.now()
      const work = (clickhouse: ReportSources['clickhouse']) =>
        report({ ...deps, clickhouse }, { app_id, ...page, count_rows, filters, group, days, by, sort })
      const result = await runInTurn(reader, reply, work, asked++ > 0)
      return { ...result, elapsed_ms: Math.round(performance.now() - started) }
    }
    const line = { request_id: request.id, report: name, format, app_id, key_id }
    const close = (totals: Totals) => count(line, totals)
    const answer = { name, requested, request, reply, now_ms, readPage, close }
    return format === 'csv' ? answerCsv(answer) : answerJson(answer)
  }
}

/** The report of this name. Throws `unknown_report`. */
export function getReportName(name: string): ReportName {
  if (!Object.hasOwn(answeredReports, name)) throw unknownReport()
  return name as ReportName
}

export const unknownReport = () => new CodedError('unknown_report', { message: `Reports: ${reportNames.join(', ')}.` })
