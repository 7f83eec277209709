import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { frozenDaysSql, frozenSql } from '../../attribution/frozen-clicks.ts'
import { type DaysOfApp, onDays } from './days-of-app.ts'
import { countedSql, isPurchase } from './money.ts'

/** The dimensions of the lists of settled campaigns and clicks. A request that asks for more reads raw rows. */
export const campaignLists = {
  campaigns: ['partner', 'campaign'],
  countries: ['partner', 'campaign', 'country'],
} as const
export type CampaignList = keyof typeof campaignLists

const listOf = (by: readonly string[]) => by.map((one) => `${one}, `).join('')

/** Installs by day and the columns `by` of the newest verdict. */
export const campaignInstallsSql = (at: DaysOfApp, by: readonly string[]): string => `
  SELECT date, ${listOf(by)}sumIf(toInt64(sign), reinstall = 0) AS installs, sumIf(toInt64(sign), reinstall = 1) AS reinstalls,
    sumIf(toInt64(sign), reinstall = 0 AND flagged = 1) AS fraud_flagged
  FROM (
    SELECT day AS date, ${listOf(by)}reinstall, flagged, sign
    FROM installs_by_dimensions_v1 FINAL
    WHERE ${onDays(at)}
  )
  GROUP BY ${listOf(by)}date
  HAVING installs != 0 OR reinstalls != 0`

const columns_of_clicks: readonly string[] = ['partner', 'campaign']

/**
 * Clicks that no filter kept: `date`, the columns `by` and `clicks`, in any number of rows. Those of a frozen day are counted, and a row
 * that came later is none of them. The table is a set: `DISTINCT` takes each click once, so that no `FINAL` has to merge other days. `frozen: false` leaves out frozen days, which do not know what is asked for.
 */
export function clicksSql(at: DaysOfApp, by: readonly string[], { frozen = true } = {}): string {
  const value = (one: string) =>
    columns_of_clicks.includes(one) ? one : `JSONExtractString(click, ${textLiteral(one)}) AS ${one}`
  const values = by.map((one) => `, ${value(one)}`).join('')
  const ofFrozen = `
  UNION ALL
  SELECT day AS date, ${listOf(by)}clicks
  FROM ${frozenSql(at.app_id)} AND day IN ${at.days}`
  return `
  SELECT date, ${listOf(by)}toUInt64(1) AS clicks
  FROM (
    SELECT DISTINCT click_id, day AS date${values}
    FROM clicks_raw_v1
    WHERE ${onDays(at)} AND filtered_reason = '' AND day NOT IN (${frozenDaysSql(at.app_id)})
  )${frozen ? ofFrozen : ''}`
}

/** The same by day, added up. */
export const campaignClicksSql = (at: DaysOfApp, by: readonly string[]): string => `
  SELECT date, ${listOf(by)}sum(clicks) AS clicks
  FROM (SELECT date, ${listOf(by)}clicks FROM (${clicksSql(at, by)}))
  GROUP BY ${listOf(by)}date`

/**
 * Money of days from the install time of new installs on, by day of install, install, age and currency: `date, install_day`, the columns
 * `by` of the newest verdict, `number, age, currency, micros, purchases, paid`. `number` tells installs apart: a hash of the log position
 * of the verdict, which names nobody. `taken` is a condition on the installs.
 */
export const earningsSql = (at: DaysOfApp, by: readonly string[] = campaignLists.countries, taken = '1'): string => `
  SELECT date, install_day, ${listOf(by)}number, age, currency, sum(amount) AS micros, countIf(${isPurchase}) AS purchases,
    toUInt8(countIf(${isPurchase} AND amount > 0) > 0) AS paid
  FROM (
    SELECT date, install_day, ${listOf(by)}number, toUInt16(intDiv(ts + correction - installed_ms, ${day_ms})) AS age, code AS currency,
      amount, event_name
    FROM (${countedSql(at)}
    ) AS counted
    INNER JOIN (
      SELECT install_key, day AS install_day, installed_at_ms AS installed_ms, ${listOf(by)}max(position) AS number
      FROM (
        SELECT DISTINCT install_key, day, installed_at_ms, ${listOf(by)}sign, sipHash64(topic, partition, offset) AS position
        FROM installs_by_dimensions_v1
        WHERE app_id = ${at.app_id} AND reinstall = 0 AND ${taken}
          AND install_key IN (SELECT install_key FROM revenue_raw_v1 WHERE ${onDays(at)})
      )
      GROUP BY ${listOf(by)}install_key, install_day, installed_ms
      HAVING sum(sign) > 0
    ) AS fresh USING (install_key)
    WHERE ts + correction >= installed_ms
  )
  GROUP BY ${listOf(by)}date, install_day, number, age, currency`
