import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { limits } from '@tributary/contracts/limits'

type Queries = Pick<Clickhouse, 'query'>

/** A column by which pages follow each other. */
interface KeyColumn {
  name: string
  type: string
}

/** How the rows of a table are read. */
export interface TableShape {
  /** The table with `FINAL` where it may hold a row more than once. */
  from: string
  /** All columns, 64-bit numbers as texts. */
  columns: string
  /** The order of the table, then what distinguishes rows of one place in it. */
  key: readonly KeyColumn[]
}

/** Distinguish rows that have the same place in the order of a table which is no set. */
const tie_breakers = ['topic', 'partition', 'offset', 'event_index', 'event_key']

interface TableRow {
  table: string
  engine: string
  sorting_key: string
  names: string[]
  types: string[]
}

/** All tables by name. */
export async function readShapes({ query }: Queries): Promise<Map<string, TableShape>> {
  const found = await query<TableRow>(
    `SELECT table, any(t.engine) AS engine, any(t.sorting_key) AS sorting_key, groupArray(c.name) AS names,
       groupArray(c.type) AS types
     FROM (SELECT * FROM system.columns WHERE database = currentDatabase() ORDER BY table, position) AS c
     JOIN (SELECT name, engine, sorting_key FROM system.tables WHERE database = currentDatabase()) AS t ON t.name = c.table
     GROUP BY table`,
  )
  return new Map(found.map((row) => [row.table, toShape(row)]))
}

function toShape({ table, engine, sorting_key, names, types }: TableRow): TableShape {
  const typeOf = new Map(names.map((name, n) => [name, types[n]!]))
  const ordered = new Set([...sorting_key.split(', '), ...tie_breakers].filter((name) => typeOf.has(name)))
  return {
    from: /(Replacing|Aggregating|Summing)MergeTree/.test(engine) ? `${table} FINAL` : table,
    columns: names.map((name) => columnSql(name, typeOf.get(name)!)).join(', '),
    key: [...ordered].map((name) => ({ name, type: typeOf.get(name)! })),
  }
}

function columnSql(name: string, type: string): string {
  if (type === 'UInt64') return `toString(\`${name}\`) AS \`${name}\``
  if (type === 'Array(UInt64)') return `arrayMap(one -> toString(one), \`${name}\`) AS \`${name}\``
  return `\`${name}\``
}

type Row = Record<string, unknown> & { _at: readonly string[] }

/**
 * The rows of a table that a condition holds for, `export_page_rows` of them in memory. Each page begins behind the last row of
 * the page before: it costs the same wherever it lies. `fixed` are columns of the key that have one value in all of these rows.
 */
export async function* readPages(
  { query }: Queries,
  { from, columns, key }: TableShape,
  { where, fixed }: { where: string; fixed: readonly string[] },
  params: Record<string, string>,
): AsyncGenerator<Record<string, unknown>> {
  const order = key.filter(({ name }) => !fixed.includes(name))
  const names = order.map((_, n) => `_k${n}`).join(', ')
  const keys = order.map(({ name }, n) => `\`${name}\` AS _k${n}`).join(', ')
  const at = order.map(({ type }, n) => (isText(type) ? `hex(_k${n})` : `toString(_k${n})`)).join(', ')
  for (let last: readonly string[] | null = null; ; ) {
    const behind = last === null ? '' : ` AND ${behindSql(order)}`
    const rows: Row[] = await query<Row>(
      `SELECT ${columns}, [${at}] AS _at FROM (
         SELECT *, ${keys} FROM ${from} WHERE ${where}${behind}
         ORDER BY ${names} LIMIT ${limits.export_page_rows} WITH TIES)
       ORDER BY ${names}`,
      { ...params, ...Object.fromEntries((last ?? []).map((value, n) => [`at${n}`, value])) },
    )
    for (const { _at, ...row } of rows) yield row
    if (rows.length < limits.export_page_rows) return
    last = rows.at(-1)!._at
  }
}

/** Texts may hold bytes that are no UTF-8, which only hex gives back. */
const isText = (type: string): boolean => /String/.test(type)

/** Rows behind that at `at0`, `at1`, ... The first column stands apart: it shows the engine where to begin. */
function behindSql(order: readonly KeyColumn[]): string {
  const values = order.map(({ type }, n) =>
    isText(type) ? `unhex({at${n}:String})` : `CAST({at${n}:String}, ${textLiteral(type)})`,
  )
  const names = order.map(({ name }) => `\`${name}\``)
  return `${names[0]} >= ${values[0]} AND (${names.join(', ')}) > (${values.join(', ')})`
}
