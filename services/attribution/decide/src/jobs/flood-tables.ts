import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { type SourceDay, sourceName } from '@tributary/domain/attribute/fraud'

/** A source of clicks of an app on a UTC day, `YYYY-MM-DD`. */
export interface Source extends SourceDay {
  day: string
}

/** A source and whether it flooded. */
export interface FloodRow extends Source {
  flooded: boolean
}

/** An install whose flag is not that of its source, and whether that flooded. */
export interface Misflagged {
  install_uuid: string
  flooded: 0 | 1
}

type Query = Pick<Clickhouse, 'query'>
type Named<T> = Omit<T, 'campaign'> & { campaign: string }

/** UTC day of a click: the first 48 bits of its id are its time. */
export const clickDaySql = `toDate(fromUnixTimestamp64Milli(toInt64(reinterpretAsUInt64(reverse(unhex(
  concat(substring(click_id, 1, 8), substring(click_id, 10, 4)))))), 'UTC'), 'UTC')`

const nullable = <T extends { campaign: string }>(rows: readonly T[]) =>
  rows.map((row) => ({ ...row, campaign: row.campaign || null }))

/** Clicks of each source on these days that may attribute, and the new installs that they brought. */
export async function findSources(clickhouse: Query, app_id: string, days: readonly string[]): Promise<Source[]> {
  const [clicks, conversions] = await Promise.all([
    clickhouse.query<Named<Source>>(
      `SELECT toString(day) AS day, partner, campaign, toUInt32(uniqExact(click_id)) AS clicks, 0 AS conversions
       FROM clicks_raw_v1 AS c
       WHERE app_id = {app_id:String} AND c.day IN {days:Array(Date)} AND filtered_reason = '' AND ${inTime}
       GROUP BY c.day, partner, campaign`,
      { app_id, days, ...idsOf(days) },
    ),
    clickhouse.query<Named<Source>>(
      `SELECT toString(click_day) AS day, partner, campaign, toUInt32(count()) AS conversions
       FROM (${claimantsSql}) GROUP BY click_day, partner, campaign`,
      { app_id, days, ...idsOf(days) },
    ),
  ])
  const brought = new Map(conversions.map((row) => [sourceName(row), row.conversions]))
  return nullable(clicks.map((row) => ({ ...row, conversions: brought.get(sourceName(row)) ?? 0 })))
}

/**
 * Installs that clicks of these days brought and whose flag is not what was worked out of their source, from an install on.
 * A source that never flooded was not worked out, and its installs have no flag. The claims give the ids, so that the large
 * table is read by its key.
 */
export async function findMisflagged(
  clickhouse: Query,
  { app_id, days, after, page_max }: { app_id: string; days: readonly string[]; after: string; page_max: number },
): Promise<Misflagged[]> {
  return clickhouse.query<Misflagged>(
    `WITH sources AS (
       SELECT day AS click_day, partner, campaign, flooded FROM click_floods_v1 AS f FINAL
       WHERE app_id = {app_id:String} AND f.day IN {days:Array(Date)})
     SELECT install_uuid, flooded FROM (
       SELECT install_uuid, ${clickDaySql} AS click_day, partner, campaign, has(fraud_flags, 'click_flooding') AS flagged
       FROM installs_v1 FINAL
       WHERE app_id = {app_id:String} AND install_uuid > {after:String} AND ${inTime} AND install_uuid IN (
         SELECT install_uuid FROM install_claims_v1
         WHERE app_id = {app_id:String} AND install_uuid > {after:String} AND ${inTime}
           AND (partner, campaign) IN (SELECT partner, campaign FROM sources))
       GROUP BY install_uuid, click_id, partner, campaign, flagged HAVING sum(sign) > 0
     ) AS installs INNER JOIN sources USING (click_day, partner, campaign)
     WHERE flagged != flooded
     ORDER BY install_uuid LIMIT {page_max:UInt32}`,
    { app_id, days, after, page_max, ...idsOf(days) },
  )
}

/** What was worked out last of the sources of these days. */
export async function findWorkedOut(
  clickhouse: Query,
  app_id: string,
  days: readonly string[],
): Promise<(FloodRow & { worked_out_ms: number })[]> {
  const rows = await clickhouse.query<Named<Source> & { flooded: number; worked_out_ms: number }>(
    `SELECT toString(day) AS day, partner, campaign, flooded, toUInt32(clicks) AS clicks, toUInt32(conversions) AS conversions,
       worked_out_ms
     FROM click_floods_v1 AS f FINAL WHERE app_id = {app_id:String} AND f.day IN {days:Array(Date)}`,
    { app_id, days },
  )
  return nullable(rows).map((row) => ({ ...row, flooded: row.flooded === 1 }))
}

/** Writes what was worked out; of a source and day the newest row counts. */
export async function insertFloods(
  clickhouse: Pick<Clickhouse, 'insert'>,
  app_id: string,
  rows: readonly FloodRow[],
  worked_out_ms: number,
): Promise<void> {
  if (rows.length === 0) return
  const lines = rows.map(({ day, partner, campaign, flooded, clicks, conversions }) =>
    JSON.stringify([app_id, day, partner, campaign ?? '', Number(flooded), clicks, conversions, worked_out_ms]),
  )
  const columns = ['app_id', 'day', 'partner', 'campaign', 'flooded', 'clicks', 'conversions', 'worked_out_ms']
  await clickhouse.insert({
    table: 'click_floods_v1',
    columns,
    lines: lines.join('\n'),
    token: `floods/${randomUUID()}`,
  })
}

/** Ids begin with the time: this much of the primary key holds all clicks of the days. */
const inTime = 'click_id >= {from_id:String} AND click_id < {to_id:String}'

function idsOf(days: readonly string[]) {
  const times = days.map((day) => Date.parse(day))
  const idAt = (ms: number) => {
    const hex = Math.max(0, ms).toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}`
  }
  return { from_id: idAt(Math.min(...times) - day_ms), to_id: idAt(Math.max(...times) + 2 * day_ms) }
}

const claimantsSql = `
  SELECT ${clickDaySql} AS click_day, partner, campaign, install_uuid
  FROM install_claims_v1 FINAL
  WHERE app_id = {app_id:String} AND ${inTime} AND click_day IN {days:Array(Date)} AND reinstall = 0
  GROUP BY click_id, install_uuid, partner, campaign HAVING sum(sign) > 0`
