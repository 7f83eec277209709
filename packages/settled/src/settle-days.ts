import { literals } from '@tributary/attribution/literals'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type FigureName, figureOf } from './figures.ts'
import { insertSelect } from './insert-select.ts'
import { activityDays, type CohortPair, retainedSql } from './sql/cohorts.ts'
import type { DaysOfApp } from './sql/days-of-app.ts'

/** A day with its stamp, which was read before any data of the day. */
export interface Stamped {
  day: string
  /** Unsigned 64-bit decimal. */
  stamp: string
}
export type StampedPair = Stamped & CohortPair

/**
 * Works a figure out for days of an app, and stores it with the stamps of the days. The caller read the stamps before, so the
 * data behind them is visible here. Repeating it, racing it and killing it do no harm: a row counts only while its stamp equals
 * the stamp of the day.
 */
export async function settleDays(
  clickhouse: Clickhouse,
  name: FigureName,
  app_id: string,
  days: readonly Stamped[],
): Promise<void> {
  const { table, lists } = figureOf(name)
  const at = { app_id: literals('app_id', [app_id]), days: `(${days.map(dateOf).join(', ')})` }
  const columns = Object.entries(lists).flatMap(([list, of]) => of.columns.map((column) => `\`${list}.${column}\``))
  const values = Object.entries(lists).flatMap(([list, of]) =>
    of.columns.map((_, index) => `tupleElement(\`${list}\`, ${index + 1})`),
  )
  const joins = Object.entries(lists).map(([list, of]) => listOfDay(list, of, at))
  const stamped = days.map((one) => `(${dateOf(one)}, toUInt64(${stampOf(one)}))`)
  await insertSelect(
    clickhouse,
    [...Object.values(lists).map(({ liveSql }) => liveSql(at))],
    `INSERT INTO ${table} (app_id, day, stamp, ${columns.join(', ')})
SELECT ${at.app_id}, date, stamp, ${values.join(', ')}
FROM (SELECT one.1 AS date, one.2 AS stamp FROM (SELECT arrayJoin([${stamped.join(', ')}]) AS one)) AS days
${joins.join('\n')}`,
  )
}

type List = ReturnType<typeof figureOf>['lists'][string]

/** The rows of a list as one value for each day. */
const listOfDay = (list: string, { columns, liveSql }: List, at: DaysOfApp): string =>
  `LEFT JOIN (
SELECT date, arraySort(groupArray((${columns.join(', ')}))) AS \`${list}\`
FROM (${liveSql(at)}
)
GROUP BY date) AS of_${list} USING (date)`

/** The same for cohorts: pairs of a day of install and a number of days, all of one number. */
export async function settleCohorts(clickhouse: Clickhouse, app_id: string, pairs: readonly StampedPair[]) {
  const days = `[${pairs.map(dateOf).join(', ')}]`
  const numbers = `CAST([${pairs.map(({ n }) => Number(n)).join(', ')}], 'Array(UInt16)')`
  const stamps = pairs.map((one) => `toUInt64(${stampOf(one)})`).join(', ')
  const app = literals('app_id', [app_id])
  const activity_days = `(${activityDays(pairs)
    .map((day) => dateOf({ day }))
    .join(', ')})`
  const retained = retainedSql({ app_id: app, days, numbers, activity_days })
  await insertSelect(
    clickhouse,
    [retained],
    `INSERT INTO settled_cohorts_v1 (app_id, day, n, stamp, retained)
SELECT ${app}, date, n, stamp, retained
FROM (SELECT one.1 AS date, one.2 AS n, one.3 AS stamp FROM (SELECT arrayJoin(arrayZip(${days}, ${numbers}, [${stamps}])) AS one)) AS pairs
LEFT JOIN (${retained}
) AS counted USING (date, n)`,
  )
}

const dateOf = ({ day }: { day: string }): string => `toDate(${literals('day', [day])})`

function stampOf({ stamp }: Stamped): string {
  if (!/^\d{1,20}$/.test(stamp)) throw new TypeError('a stamp has another shape')
  return stamp
}
