import { daysBetween } from '@tributary/tables/settled/days'
import { type FigureName, figureOf, type ListName, settledSql } from '@tributary/tables/settled/figures'
import { findSettled } from '@tributary/tables/settled/find-settled'
import type { ReportSources } from './report.ts'
import type { WindowDays } from './window-days.ts'

/** The days of a figure in a window: how each is read. */
export interface FoundDays<Name extends FigureName> {
  name: Name
  /** Days that are read as they are stored. */
  settled: readonly string[]
  /** Whole days that are worked out now. */
  live: readonly string[]
  /** Days of which the part in the window is worked out now. */
  edge: readonly string[]
}

type Days = Pick<WindowDays, 'whole_from' | 'whole_to' | 'edge_days'>

/**
 * Finds how to read each day of a figure in a window. Call it before the statement that reads the figure
 * (docs/decisions/reports.md#reports-find-settled-days-first).
 */
export async function findDays<Name extends FigureName>(
  { clickhouse }: Pick<ReportSources, 'clickhouse'>,
  name: Name,
  app_id: string,
  days: Days,
): Promise<FoundDays<Name>> {
  const { whole_from, whole_to } = days
  const range = { app_id, from: whole_from, to: whole_to }
  const { settled_days } = whole_from < whole_to ? await findSettled(clickhouse, name, range) : { settled_days: [] }
  return divideDays(name, days, new Set(settled_days))
}

/** How to read each day of a figure in a window of which these days are settled. */
export function divideDays<Name extends FigureName>(
  name: Name,
  { whole_from, whole_to, edge_days }: Days,
  is_settled: ReadonlySet<string>,
): FoundDays<Name> {
  const { settled = [], live = [] } = Object.groupBy(daysBetween(whole_from, whole_to), (day) =>
    is_settled.has(day) ? 'settled' : 'live',
  )
  // A set of installs holds a whole day. Other figures filter by time, so one part reads whole and partly covered days.
  if (name === 'uniques' || edge_days.length === 0) return { name, settled, live, edge: edge_days }
  return { name, settled, live: [], edge: [...live, ...edge_days] }
}

/** Settled payments (`figures.payments`) of the days in a parameter. */
export const settledPaymentsSql = (days: string): string =>
  settledSql('payments', 'events', { app_id, days: `{${days}:Array(Date)}` })

/** The parameters of `windowSql`, besides `app_id` and the window. */
export const daysParams = ({
  name,
  settled,
  live,
  edge,
}: FoundDays<FigureName>): Record<string, readonly string[]> => ({
  [`settled_${name}`]: settled,
  [`live_${name}`]: live,
  [`edge_${name}`]: edge,
})

/** SQL condition for the times of a figure that are in a window. */
export function momentsOf(name: FigureName): string {
  const { time_column } = figureOf(name)
  return `${time_column} >= {since_ms:Int64} AND ${time_column} < {until_ms:Int64}`
}

const app_id = '{app_id:String}'

/**
 * Rows of a list of a figure in a window, each with its `date`. The engine plans a statement without empty parts faster. `ofLive`
 * is a further condition on whole live days, and `ofInstalls` one on all that is not settled.
 */
export function windowSql<Name extends FigureName>(
  found: FoundDays<Name>,
  list: ListName<Name>,
  { ofLive, ofInstalls }: { ofLive?: string | undefined; ofInstalls?: string | undefined } = {},
): string {
  const { name, settled, live, edge } = found
  const { liveSql } = figureOf(name).lists[list]!
  const of_live = both(ofLive, ofInstalls)
  const moments = both(momentsOf(name), ofInstalls)!
  const parts = [
    ...(settled.length > 0 ? [settledDaysSql(name, list)] : []),
    ...(live.length > 0
      ? [liveSql({ app_id, days: `{live_${name}:Array(Date)}`, ...(of_live && { moments: of_live }) })]
      : []),
    ...(edge.length > 0 ? [liveSql({ app_id, days: `{edge_${name}:Array(Date)}`, moments })] : []),
  ]
  return parts.length > 0 ? parts.join('\n  UNION ALL') : settledDaysSql(name, list)
}

/** Rows of a list on the settled days of a window. */
export const settledDaysSql = <Name extends FigureName>(name: Name, list: ListName<Name>): string =>
  settledSql(name, list, { app_id, days: `{settled_${name}:Array(Date)}` })

/** The days of a window that are not settled, whole or not, for a report that reads them with a statement of its own. */
export const liveDays = (name: FigureName, ofInstalls?: string) => ({
  app_id,
  days: `arrayConcat({live_${name}:Array(Date)}, {edge_${name}:Array(Date)})`,
  moments: both(momentsOf(name), ofInstalls)!,
})

/** Both conditions, where both are there. */
export const both = (one?: string, other?: string): string | undefined =>
  [one, other].filter((condition) => condition !== undefined).join(' AND ') || undefined

/** The same days, all of them live: a distinct count of a week or a month is no sum of days. */
export const allLive = <Name extends FigureName>(found: FoundDays<Name>): FoundDays<Name> => ({
  ...found,
  settled: [],
  live: [...found.settled, ...found.live],
})
