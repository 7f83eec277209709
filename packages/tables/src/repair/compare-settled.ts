import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { addDays } from '../settled/days.ts'
import { type FigureName, figureNames, figureOf, settledSql } from '../settled/figures.ts'
import { findSettled, findSettledCohorts } from '../settled/find-settled.ts'
import {
  activityDays,
  type CohortName,
  cohortFigures,
  retainedSql,
  settledCampaignsRetainedSql,
  settledNumbers,
  settledRetainedSql,
} from '../settled/sql/cohorts.ts'
import { type AppDays, comparingSettings } from './compare-days.ts'

type Statements = Pick<Clickhouse, 'query'>

/** A settled day whose rows are not those that its data gives. */
export interface SettledDifference {
  table: string
  day: string
  /** Rows that the data gives, and those of them that are stored; more than there should be where only that differs. */
  expected: number
  found: number
  /** The list of the figure that differs. */
  list: string
}

/** Both ways to the rows of a list, and the columns that have to be equal. */
interface Both {
  table: string
  list: string
  columns: readonly string[]
  live: string
  settled: string
}

/** Rows of installs are numbered anew each time. */
const isCompared = (column: string) => column !== 'number'

/** Days whose figures are compared. Clicks are compared from `clicks_from` on (a UTC day): older ones may be deleted, and stay settled. */
interface SettledDays extends AppDays {
  clicks_from: string
}

/** Works settled figures of some days of an app out again, and gives those that differ. Days whose stamp has changed are not settled. */
export async function compareSettled(
  clickhouse: Statements,
  { app_id, days, clicks_from }: SettledDays,
): Promise<SettledDifference[]> {
  const found: SettledDifference[] = []
  for (const day of days) {
    const range = { app_id, from: day, to: addDays(day, 1) }
    for (const figure of figureNames) {
      if (figure === 'clicks' && day < clicks_from) continue
      const { settled_days } = await findSettled(clickhouse, figure, range)
      if (settled_days.length === 0) continue
      for (const both of listsOf(figure, app_id, day)) found.push(...(await compareRows(clickhouse, both)))
    }
    for (const name of Object.keys(cohortFigures) as CohortName[]) {
      const { settled } = await findSettledCohorts(clickhouse, name, { ...range, numbers: settledNumbers })
      if (settled.length > 0) found.push(...(await compareRows(clickhouse, cohortOf(name, app_id, settled))))
    }
  }
  return found
}

function listsOf(figure: FigureName, app_id: string, day: string): Both[] {
  const { table, lists } = figureOf(figure)
  const at = { app_id: textLiteral(app_id), days: `(${textLiteral(day)})` }
  return Object.entries(lists).map(([list, { columns, liveSql }]) => ({
    ...{ table, list, columns: columns.filter(isCompared), live: liveSql(at) },
    settled: settledSql(figure, list as never, at),
  }))
}

function cohortOf(name: CohortName, app_id: string, settled: readonly { day: string; n: number }[]): Both {
  const { table, by } = cohortFigures[name]
  const pairs = {
    app_id: textLiteral(app_id),
    // Both lists have one for each pair: `textLiterals` would leave out what comes again.
    days: `CAST([${settled.map(({ day }) => textLiteral(day))}], 'Array(Date)')`,
    numbers: `CAST([${settled.map(({ n }) => Number(n))}], 'Array(UInt16)')`,
  }
  const stored = by.length === 0 ? settledRetainedSql(pairs) : settledCampaignsRetainedSql(pairs)
  return {
    ...{ table, list: name, columns: ['n', ...by, 'retained'] },
    live: retainedSql({ ...pairs, activity_days: `(${textLiterals(activityDays(settled))})` }, by),
    // A pair without retained installs has a row of 0, which the data gives no row for.
    settled: `SELECT * FROM (${stored}) WHERE retained > 0`,
  }
}

interface Compared {
  day: string
  expected: number
  missing: number
  surplus: number
}

async function compareRows(
  clickhouse: Statements,
  { table, list, columns, live, settled }: Both,
): Promise<SettledDifference[]> {
  const row = `tuple(${columns})`
  const rows = await clickhouse.query<Compared>(
    `SELECT toString(date) AS day, toFloat64(sum(l)) AS expected, toFloat64(sumIf(l - s, l > s)) AS missing,
       toFloat64(sumIf(s - l, s > l)) AS surplus
     FROM (
       SELECT date, row, toInt64(sum(x)) AS l, toInt64(sum(y)) AS s FROM (
         SELECT date, ${row} AS row, 1 AS x, 0 AS y FROM (${live})
         UNION ALL SELECT date, ${row}, 0, 1 FROM (${settled})
       ) GROUP BY date, row)
     GROUP BY date HAVING missing + surplus > 0 SETTINGS ${comparingSettings}`,
  )
  return rows.map(({ day, expected, missing, surplus }) => ({
    ...{ table, list, day, expected, found: missing > 0 ? expected - missing : expected + surplus },
  }))
}
