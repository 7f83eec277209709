import { textLiteral } from '@tributary/clickhouse/literals'
import { organic } from '@tributary/contracts/attribution/verdict'
import type { ReportRow } from '@tributary/contracts/reports'
import { allRowsSql, queryPage } from '../query-page.ts'
import { filterSql, type Report } from '../report.ts'
import { firstDayOf, windowDays } from '../window-days.ts'
import { daysParams, type FoundDays, findDays, windowSql } from '../window-rows.ts'

/** Installs by period, partner and attribution type (docs/rules.md#attribution-report). */
export const attributionReport: Report<'attribution'> = async (
  sources,
  { app_id, limit, offset, count_rows, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const filter = filterSql(filters)
  const found = await findDays(sources, 'installs', app_id, days)
  const requested = { limit, offset, count_rows }
  const sql = installsSql(found, firstDayOf[group]('date'), filter.passes, allRowsSql(requested))
  const params = { app_id, ...days, ...daysParams(found), ...filter.params }
  const { page, all_rows } = await queryPage<ReportRow<'attribution'>>(sources.clickhouse, sql, params, requested)
  return { rows: page, all_rows, missing_rates: [] }
}

/** `passes` is a condition on partner and attribution type. */
const installsSql = (found: FoundDays<'installs'>, period: string, passes: string, allRows: string) => `
SELECT toString(${period}) AS day, partner, attribution_type, sum(fresh) AS installs,
  sumIf(fresh, partner = ${textLiteral(organic)}) AS organic, sum(again) AS reinstalls, sum(flagged) AS fraud_flagged,
  ${allRows}
FROM (
  SELECT date, partner, attribution_type, installs AS fresh, reinstalls AS again, fraud_flagged AS flagged
  FROM (${windowSql(found, 'groups')}
  )
)
WHERE ${passes}
GROUP BY ${period}, partner, attribution_type
HAVING installs != 0 OR reinstalls != 0
ORDER BY ${period}, partner, attribution_type
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
