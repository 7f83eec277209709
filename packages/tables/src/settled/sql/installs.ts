import { type DaysOfApp, onDays } from './days-of-app.ts'

/**
 * Installs by day, partner and attribution type (docs/rules.md#attribution-report). The signs of an install cancel all its
 * verdicts but the newest.
 */
export const installsSql = (at: DaysOfApp): string => `
  SELECT date, partner, attribution_type, sumIf(sign, reinstall = 0) AS installs, sumIf(sign, reinstall = 1) AS reinstalls,
    sumIf(sign, reinstall = 0 AND flagged = 1) AS fraud_flagged
  FROM (
    SELECT day AS date, partner, attribution_type, reinstall, flagged, sign
    FROM installs_by_day_v1 FINAL
    WHERE ${onDays(at)}
  )
  GROUP BY date, partner, attribution_type
  HAVING installs != 0 OR reinstalls != 0`
