import type { ReportFormat } from '@tributary/contracts/report-parameters'
import type { ReportMeta, ReportName } from '@tributary/contracts/reports'
import { csv_type } from '@tributary/service-kit/http/csv'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { ReportPage, RequestedReport } from '../parameters.ts'
import { isKnown, weakTag } from './etag.ts'

/** A page of a report as it came from the engine. */
export interface AnsweredPage {
  rows: readonly { day?: string | undefined }[]
  all_rows: number
  missing_rates: string[]
  whole_days?: { since_ms: number; until_ms: number } | undefined
  groups_folded?: boolean | undefined
  totals?: ReportMeta['totals']
  /** Waiting included. */
  elapsed_ms: number
}

/** The result of a request. */
export interface Totals {
  rows: number
  missing_rates: readonly string[]
  elapsed_ms: number
  /** Why the answer ended; absent when it has all rows. */
  end?: 'client_left' | 'failed' | undefined
  cause?: unknown
}

/** An accepted request for a report, and the ways to answer it. */
export interface Answer {
  name: ReportName
  requested: RequestedReport
  request: FastifyRequest
  reply: FastifyReply
  now_ms: number
  /** Waits for a turn and works out a page. */
  readPage(page: ReportPage): Promise<AnsweredPage>
  /** Counts and logs the request, once. */
  close(totals: Totals): void
}

const content_types = { json: 'application/json; charset=utf-8', csv: csv_type }

/** The form that `Accept` prefers; JSON where it accepts neither. */
export function preferredFormat(request: FastifyRequest): ReportFormat {
  const preferred = new Negotiator(request).mediaType(Object.values(content_types))
  return preferred === content_types.csv ? 'csv' : 'json'
}

/**
 * Adds the weak tag of `content` to the answer and says whether the client has that answer already (docs/rules.md#answers-that-did-not-change).
 * Without a fixed window there is no tag: the next request means another window.
 */
export function isUnchanged({ requested, request, reply }: Answer, content: string): boolean {
  if (!requested.is_window_given) return false
  const tag = weakTag(content)
  reply.header('etag', tag)
  return isKnown(tag, request.headers['if-none-match'])
}
