import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FilteredClicks, FlaggedInstalls } from '@tributary/contracts/admin/rows/clicks'
import { limits } from '@tributary/contracts/limits'
import { type ClickWindow, clickParams, inClickWindow } from './click-window.ts'
import { weightSql } from './link-clicks.ts'
import { inInstallWindow, liveVerdicts } from './list-installs.ts'

/** Installs with a fraud flag by partner and flag, the most first. Only flagged ones are read whole, which are few. */
export function countFlaggedInstalls(
  clickhouse: Pick<Clickhouse, 'query'>,
  window: ClickWindow,
): Promise<FlaggedInstalls[]> {
  return clickhouse.query<FlaggedInstalls>(
    `SELECT partner, reason, count() AS installs FROM (
       SELECT i.partner AS partner, i.fraud_flags AS flags FROM installs_v1 AS i
       WHERE ${inInstallWindow} AND i.pending = 0 AND notEmpty(i.fraud_flags)
       ${liveVerdicts}
     ) ARRAY JOIN flags AS reason
     GROUP BY partner, reason ORDER BY installs DESC, partner, reason LIMIT ${limits.report_limit_max}`,
    { ...window },
  )
}

/** Filtered clicks by partner and reason, the most first. */
export function countFilteredClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  window: ClickWindow,
): Promise<FilteredClicks[]> {
  return clickhouse.query<FilteredClicks>(
    `SELECT c.partner AS partner, c.filtered_reason AS reason, sum(${weightSql}) AS clicks FROM clicks_raw_v1 AS c FINAL
     WHERE ${inClickWindow} AND c.filtered_reason != ''
     GROUP BY partner, reason ORDER BY clicks DESC, partner, reason LIMIT ${limits.report_limit_max}`,
    clickParams(window),
  )
}
