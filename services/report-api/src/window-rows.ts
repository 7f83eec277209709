import { type FigureName, figureOf, type ListName, settledSql } from '@tributary/settled/figures'
import { findSettled } from '@tributary/settled/find-settled'
import type { ReportSources } from './report.ts'
import type { WindowDays } from './window-days.ts'

const app_id = '{app_id:String}'

/** Conditions on the moments of a window, for its partly covered days. */
const moments: Readonly<Record<FigureName, string>> = {
  installs: 'installed_at_ms >= {since_ms:Int64} AND installed_at_ms < {until_ms:Int64}',
  uniques: 'ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}',
  money: 'ts_ms >= {since_ms:Int64} AND ts_ms < {until_ms:Int64}',
}

/**
 * Rows of a list of a figure in a window, each with its `date`: settled days as they are stored, the others and partly covered
 * days live. Its parameters are those of `findDays` of the figure, `app_id` and the window.
 */
export const windowSql = <Name extends FigureName>(name: Name, list: ListName<Name>): string => `
${wholeDaysSql(name, list)}
  UNION ALL
${figureOf(name).lists[list]!.liveSql({ app_id, days: '{edge_days:Array(Date)}', moments: moments[name] })}`

/** The same of whole days only. */
export const wholeDaysSql = <Name extends FigureName>(name: Name, list: ListName<Name>): string => `
${settledSql(name, list, { app_id, days: `{settled_${name}:Array(Date)}` })}
  UNION ALL
${figureOf(name).lists[list]!.liveSql({ app_id, days: `{live_${name}:Array(Date)}` })}`

/** Whole days, of a window or others. */
type WholeDays = Pick<WindowDays, 'whole_from' | 'whole_to'>

/** The parameters that say which whole days are settled. Ask before the figure is read, in a statement of its own. */
export async function findDays(
  { clickhouse }: Pick<ReportSources, 'clickhouse'>,
  name: FigureName,
  app: string,
  { whole_from, whole_to }: WholeDays,
): Promise<Record<string, string[]>> {
  const range = { app_id: app, from: whole_from, to: whole_to }
  const { settled_days, live_days } = await findSettled(clickhouse, name, range)
  return { [`settled_${name}`]: settled_days, [`live_${name}`]: live_days }
}
