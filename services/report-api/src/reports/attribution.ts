import { organic } from '@tributary/contracts/attribution/verdict'
import type { ReportRow } from '@tributary/contracts/reports'
import { firstDayOf, installsInWindow, type Report, windowDays } from '../report.ts'

/**
 * Installs by period, partner and attribution type (docs/rules.md#attribution-report). The signs of an install cancel all
 * its verdicts but the newest, so a sum of signs counts each install once.
 */
export const attributionReport: Report<'attribution'> = async (
  { clickhouse },
  { app_id, limit, offset, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], missing_rates: [] }
  const { partner, attribution_type } = filters
  const named = [
    partner && 'AND partner IN {partners:Array(String)}',
    attribution_type && 'AND attribution_type IN {attribution_types:Array(String)}',
  ]
  const rows = await clickhouse.query<ReportRow<'attribution'>>(
    installsSql(firstDayOf[group], named.filter(Boolean).join(' ')),
    {
      ...{ app_id, ...days, limit, offset },
      ...(partner && { partners: partner }),
      ...(attribution_type && { attribution_types: attribution_type }),
    },
  )
  return { rows, missing_rates: [] }
}

/** `named` is a condition on partner and attribution type; it may be empty. */
const installsSql = (periodOf: (day: string) => string, named: string) => `
SELECT toString(date) AS day, partner, attribution_type, sumIf(sign, reinstall = 0) AS installs,
  sumIf(sign, reinstall = 0 AND attribution_type = '${organic}') AS organic, sumIf(sign, reinstall = 1) AS reinstalls,
  sumIf(sign, reinstall = 0 AND flagged = 1) AS fraud_flagged
FROM (
  SELECT ${periodOf('day')} AS date, partner, attribution_type, reinstall, flagged, sign
  FROM installs_by_day_v1 FINAL
  WHERE ${installsInWindow} ${named}
)
GROUP BY date, partner, attribution_type
HAVING installs != 0 OR reinstalls != 0
ORDER BY date, partner, attribution_type
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
