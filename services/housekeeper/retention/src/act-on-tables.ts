import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { mutate } from '@tributary/clickhouse/mutate'
import type { Table, TableRetention } from '@tributary/contracts/table'
import { tableNames, tables } from '@tributary/contracts/tables'
import { byAppSql } from '@tributary/tables/events/raw-expired'
import type { FirstKept } from './kept-days.ts'

export interface ActOnTables {
  clickhouse: Clickhouse
  signal: AbortSignal
  /** What is done to rows: `mutate`, or something that only counts them. */
  act: typeof mutate
  /** Called with the rows that were changed in a table. */
  onRows(table: string, rows: number): void
}

/** Blanks addresses and agents that were received before the first kept day of their app, in every table that declares them. */
export async function blankAddresses({ clickhouse, signal, act, onRows }: ActOnTables, kept: FirstKept): Promise<void> {
  for (const [table, { blanked }] of declaredTables()) {
    if (blanked === undefined) continue
    const { received_ms, holds, columns } = blanked
    const set = Object.entries(columns).map(([column, value]) => `${column} = ${value}`)
    const before_ms = firstKeptSql(kept, (day) => `toInt64(${Date.parse(day)})`)
    const where = `${received_ms} < ${before_ms} AND ${holds}`
    onRows(table, await act(clickhouse, { table, action: `UPDATE ${set.join(', ')}`, where, signal }))
  }
}

/** Deletes rows of days before the first kept one of their app, in every table with this setting. */
export async function deleteDays(
  { clickhouse, signal, act, onRows }: ActOnTables,
  setting: NonNullable<TableRetention['deleted_after']>,
  kept: FirstKept,
  condition = '1',
): Promise<void> {
  for (const [table, { deleted_after }] of declaredTables()) {
    if (deleted_after !== setting) continue
    const where = `day < ${firstKeptSql(kept, (day) => `toDate(${textLiteral(day)})`)} AND ${condition}`
    onRows(table, await act(clickhouse, { table, action: 'DELETE', where, signal }))
  }
}

const declaredTables = () =>
  tableNames.flatMap((name): [string, TableRetention][] => {
    const { retention }: Table = tables[name]
    return retention === undefined ? [] : [[name, retention]]
  })

/** SQL of the first kept day of the app of a row. */
export function firstKeptSql({ days, otherwise }: FirstKept, toSql: (day: string) => string): string {
  const values = new Map([...days].map(([app_id, day]) => [app_id, toSql(day)]))
  return byAppSql(values, toSql(otherwise ?? '1970-01-01'))
}
