import type { RequestedRows } from './parameters.ts'
import type { ReportSources } from './report.ts'

/**
 * SQL of the column `all_rows` of a statement with the parameters `limit` and `offset`: the rows of all pages, which the engine knows
 * when it has grouped them.
 */
export const allRowsSql = ({ count_rows }: Pick<RequestedRows, 'count_rows'>): string =>
  `${count_rows ? 'count() OVER ()' : 'toUInt64(0)'} AS all_rows`

/** The page of a statement with `allRowsSql`, and how many rows all pages have; 0 if nobody asked. */
export async function queryPage<Row extends object>(
  clickhouse: ReportSources['clickhouse'],
  sql: string,
  params: object,
  { limit, offset, count_rows }: RequestedRows,
): Promise<{ page: Row[]; all_rows: number }> {
  const query = (rows: { limit: number; offset: number }) =>
    clickhouse.query<Row & { all_rows: number }>(sql, { ...params, ...rows })
  const found = await query({ limit, offset })
  // Behind the last row no row says how many there are.
  const [first] = found.length === 0 && offset > 0 && count_rows ? await query({ limit: 1, offset: 0 }) : found
  const page = found.map(({ all_rows: _, ...row }): Row => row as unknown as Row)
  return { page, all_rows: first?.all_rows ?? 0 }
}
