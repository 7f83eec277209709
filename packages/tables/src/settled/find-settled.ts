import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { addDays, daysBetween } from './days.ts'
import { type FigureName, figureOf } from './figures.ts'
import { type CohortName, type CohortPair, cohortFigures } from './sql/cohorts.ts'

type Statements = Pick<Clickhouse, 'query'>

/** Whole UTC days of an app, `YYYY-MM-DD`. */
export interface DayRange {
  app_id: string
  from: string
  /** Exclusive. */
  to: string
}

/** The days of a range, each in one of the lists, both ascending. */
export interface SettledDays {
  /** Days whose settled row, or a newer one, counts everything that is visible now. */
  settled_days: string[]
  /** Days that must be worked out now. Days without data are among them. */
  live_days: string[]
}

/**
 * Which days of a range are settled: those whose settled row has the stamp of today. Call it before the statement that reads
 * the figures.
 */
export async function findSettled(
  clickhouse: Statements,
  name: FigureName,
  { app_id, from, to }: DayRange,
): Promise<SettledDays> {
  const { table, source } = figureOf(name)
  const rows = await clickhouse.query<{ day: string }>(
    `SELECT toString(date) AS day
     FROM (
       SELECT day AS date, sum(rows) AS present, toUInt64(0) AS settled FROM report_stamps_v1
       WHERE app_id = {app_id:String} AND source = ${textLiteral(source)} AND day >= {from:Date} AND day < {to:Date} GROUP BY date
       UNION ALL
       SELECT day AS date, toUInt64(0) AS present, max(stamp) AS settled FROM ${table}
       WHERE app_id = {app_id:String} AND day >= {from:Date} AND day < {to:Date} GROUP BY date
     )
     GROUP BY date HAVING max(present) > 0 AND max(present) = max(settled) ORDER BY date`,
    { app_id, from, to },
  )
  const settled = new Set(rows.map(({ day }) => day))
  const days = daysBetween(from, to)
  return { settled_days: [...settled], live_days: days.filter((day) => !settled.has(day)) }
}

/** Pairs of a range of install days, each in one of the lists. */
export interface SettledCohorts {
  settled: CohortPair[]
  live: CohortPair[]
}

/**
 * Which pairs of a day of install and a number of days are settled. A settled pair has a row also when no
 * install was retained. Call it before the statement that reads the figures.
 */
export async function findSettledCohorts(
  clickhouse: Statements,
  name: CohortName,
  { app_id, from, to, numbers }: DayRange & { numbers: readonly number[] },
): Promise<SettledCohorts> {
  const { table, source } = cohortFigures[name]
  const params = { app_id, from, to, last: addDays(to, Math.max(0, ...numbers)), numbers }
  const rows = await clickhouse.query<{ kind: string; day: string; n: number; stamp: number }>(
    `SELECT toString(source) AS kind, toString(t.day) AS day, toUInt16(0) AS n, sum(rows) AS stamp FROM report_stamps_v1 AS t
     WHERE app_id = {app_id:String} AND source IN (${textLiteral(source)}, 'activity') AND t.day >= {from:Date} AND t.day <= {last:Date}
     GROUP BY source, t.day
     UNION ALL
     SELECT 'settled' AS kind, toString(t.day) AS day, n, max(t.stamp) AS stamp FROM ${table} AS t
     WHERE app_id = {app_id:String} AND t.day >= {from:Date} AND t.day < {to:Date} AND n IN {numbers:Array(UInt16)}
     GROUP BY t.day, n`,
    params,
  )
  const stamps = new Map(rows.map(({ kind, day, n, stamp }) => [`${kind}/${day}/${n}`, stamp]))
  const stampOf = (kind: string, day: string, n = 0) => stamps.get(`${kind}/${day}/${n}`) ?? 0
  const found: SettledCohorts = { settled: [], live: [] }
  for (const day of daysBetween(from, to)) {
    const installs = stampOf(source, day)
    for (const n of numbers) {
      const present = installs + stampOf('activity', addDays(day, n)) + stampOf('activity', addDays(day, n + 1))
      const is_settled = present > 0 && stampOf('settled', day, n) === present
      found[is_settled ? 'settled' : 'live'].push({ day, n })
    }
  }
  return found
}
