import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { ReportName } from '@tributary/contracts/reports'
import { ApiError } from './api-error.ts'
import { call, callReport, type Input, type Output, type ReportPage, type ReportQuery, type RouteName } from './call.ts'
import { limits } from './declared/limits.ts'

/** Answers of a declared route, in the cache. Old ones stay, as placeholders, until new ones are there. */
export const routeQuery = <Name extends RouteName>(name: Name, input: Input<Name>) =>
  queryOptions<Output<Name>>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, signal),
    placeholderData: keepPreviousData,
  })

/** All pages of a report, in the cache. Numbers of another app are never shown, not even for a moment. */
export const reportQuery = <Name extends ReportName>(name: Name, app_id: string, query: ReportQuery) =>
  queryOptions<ReportPage<Name>>({
    queryKey: [`${name} report`, app_id, query],
    queryFn: ({ signal }) => readAll(name, app_id, query, signal),
    placeholderData: (before, { queryKey } = {} as never) => (queryKey?.[1] === app_id ? before : undefined),
  })

/** What each partner brought and cost, by day: Overview and Performance add it up in the same way. */
export const partnerDaysQuery = (app_id: string, query: ReportQuery) =>
  reportQuery('performance', app_id, { ...query, by: 'partner', group: 'day' })

/** The first rows of a report in the order of the service. Others stay meanwhile only if they mean the same columns. */
export const firstRowsQuery = <Name extends ReportName>(name: Name, app_id: string, query: ReportQuery) =>
  queryOptions<ReportPage<Name>>({
    queryKey: [`first rows of ${name}`, app_id, query],
    queryFn: ({ signal }) => callReport(name, app_id, query, signal),
    placeholderData: (before, { queryKey } = {} as never) =>
      queryKey?.[1] === app_id && shapeOf(queryKey[2] as ReportQuery) === shapeOf(query) ? before : undefined,
  })

/** All of a query but its window and order. */
const shapeOf = ({ since_ms, until_ms, sort, ...shape }: ReportQuery): string => JSON.stringify(shape)

/** A report of more rows than a page: a chart of a part of them would be wrong. */
const rows_max = 20_000

async function readAll<Name extends ReportName>(
  name: Name,
  app_id: string,
  query: ReportQuery,
  signal: AbortSignal,
): Promise<ReportPage<Name>> {
  const limit = limits.report_limit_max
  const first = await callReport(name, app_id, { ...query, limit }, signal)
  const { rows } = first
  const all = [...rows]
  for (let page = first; page.meta.more && all.length < rows_max; ) {
    page = await callReport(name, app_id, { ...query, limit, offset: all.length }, signal)
    all.push(...page.rows)
  }
  return { rows: all, meta: { ...first.meta, more: all.length < first.meta.rows } }
}

/** Tries again only what another try can change. */
export const mayRetry = (failures: number, error: unknown): boolean =>
  failures < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500 || error.status === 429)

export const retryAfter = (failures: number, error: unknown): number =>
  Math.max(500 * 2 ** failures, error instanceof ApiError ? (error.retry_after_s ?? 0) * 1000 : 0)
