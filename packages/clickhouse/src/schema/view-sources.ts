import { stampTables } from '@tributary/contracts/tables'
import type { Clickhouse } from '../clickhouse.ts'

/** A materialized view: what it reads, what it fills and how. */
export interface ViewSource {
  source: string
  target: string
  columns: string[]
  /** Its SELECT over another relation (a table, or a query in parentheses) instead of its source. */
  selectFrom(relation: string): string
}

/**
 * The materialized views that fill a table of ours (`TO`), by that table. Views of stamps are left out: they only count what
 * happens.
 */
export async function readViewSources(clickhouse: Clickhouse): Promise<Map<string, ViewSource>> {
  const sources = (await readViews(clickhouse)).filter(({ target }) => !stampTables.includes(target))
  return new Map(sources.map((view) => [view.target, view]))
}

/** The materialized views that count changes for the stamps of days. */
export const readStampViews = async (clickhouse: Clickhouse): Promise<ViewSource[]> =>
  (await readViews(clickhouse)).filter(({ target }) => stampTables.includes(target))

/** The materialized views that fill a table of ours, as the engine itself words them. */
async function readViews(clickhouse: Clickhouse): Promise<ViewSource[]> {
  const views = await clickhouse.query<{ name: string; as_select: string; made: string }>(`
    SELECT name, as_select, create_table_query AS made FROM system.tables
    WHERE database = currentDatabase() AND engine = 'MaterializedView'`)
  const columns = await clickhouse.query<{ table: string; name: string }>(
    'SELECT table, name FROM system.columns WHERE database = currentDatabase()',
  )
  const columnsOf = Map.groupBy(columns, ({ table }) => table)
  return views.flatMap(({ name, as_select, made }): ViewSource[] => {
    const target = /^CREATE MATERIALIZED VIEW \S+ TO (?:\w+\.)?(\w+)/.exec(made)?.[1]
    const [clause, source] = /\bFROM (?:\w+\.)?(\w+)/.exec(as_select) ?? []
    if (target === undefined || clause === undefined || source === undefined) return []
    const selectFrom = (relation: string) => as_select.replace(clause, () => `FROM ${relation}`)
    return [{ source, target, columns: (columnsOf.get(name) ?? []).map((column) => column.name), selectFrom }]
  })
}
