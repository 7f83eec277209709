import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { eventDay } from '@tributary/contracts/report-tables'
import type { RowKeys } from './batch.ts'
import { ofApp } from './sql.ts'

/** What a delete compares instead of columns. It names no id and no event name: their hashes stand for them. */
const termOf: Readonly<Record<string, string>> = {
  event_day: eventDay,
  event_name: 'sipHash64(event_name)',
  click_id: 'sipHash64(click_id)',
  user_id: 'sipHash64(user_id)',
}
/** It has no column `install_key`: its ids are hashed when they are compared. */
const withoutInstallKey = 'identities_v1'

/** Bounds the time of a delete, as that of an insert that is tried so often. */
const delete_attempt = 4

/**
 * More rows than these are named by their columns. The engine reads the statement for each part: with more than about ten copies of
 * each row, in as many parts, places cost more than names, and with 200 the memory of a small engine does not suffice.
 */
const places_max = 10_000

/**
 * Hides rows of an app from every reader (docs/decisions/erasure.md#rows-are-hidden-first-parts-rewritten-last). Resolves once all replicas
 * did it. Repeating it changes nothing. The statement names no install: the engine keeps it.
 */
export async function deleteRows(
  clickhouse: Pick<Clickhouse, 'query' | 'command'>,
  table: string,
  app_id: string,
  keys: RowKeys,
  name: string,
): Promise<void> {
  const named = rowsNamed(table, app_id, keys)
  const hide = (where: string) =>
    clickhouse.command(`DELETE FROM ${table} WHERE ${where} SETTINGS lightweight_deletes_sync = 2`, {
      name,
      attempt: delete_attempt,
    })
  const parts = await findParts(clickhouse, table, named)
  if (parts === null) return
  await hide(parts)
  // A part that was merged meanwhile has another name: then the statement hid none of its rows.
  if ((await findParts(clickhouse, table, named)) !== null) await hide(named)
}

/**
 * Condition for the rows by their part and their number in it, for very many by their names; null if there are none. The engine reads
 * all columns of a delete's condition for every row of a part, and these two are not stored
 * (docs/decisions/erasure.md#rows-are-hidden-first-parts-rewritten-last). A part never changes its rows under its name.
 */
async function findParts(clickhouse: Pick<Clickhouse, 'query'>, table: string, named: string): Promise<string | null> {
  const parts = await clickhouse.query<{ part: string; numbers: string[] }>(
    `SELECT _part AS part, groupArray(toString(_part_offset)) AS numbers FROM ${table} WHERE ${named} GROUP BY part`,
  )
  if (parts.length === 0) return null
  if (parts.reduce((sum, { numbers }) => sum + numbers.length, 0) > places_max) return named
  return parts
    .map(({ part, numbers }) => `_part = ${textLiteral(part)} AND _part_offset IN (${numbers.join(', ')})`)
    .join(' OR ')
}

/** Condition for the rows by the columns that name them. */
function rowsNamed(table: string, app_id: string, { columns, rows }: RowKeys): string {
  const terms = columns.map((column) =>
    column === 'install_key' && table === withoutInstallKey ? 'sipHash64(install_uuid)' : (termOf[column] ?? column),
  )
  // Sets of single columns use the order of the table, which a set of several does not.
  const each = terms.map((term, n) => `${term} IN (${[...new Set(rows.map((row) => literal(row[n]!)))].join(', ')})`)
  const tuples = rows.map((row) => `(${row.map(literal).join(', ')})`)
  // The engine looks up every row of a part in a set, but converts numbers only of rows that the other sets hold
  // (docs/decisions/erasure.md#rows-are-hidden-first-parts-rewritten-last).
  const converted = terms.map((term, n) => (isNumber(rows[0]![n]!) ? `toUInt64(${term})` : term))
  const whole = columns.length === 1 ? [] : [`(${converted.join(', ')}) IN (${tuples.join(', ')})`]
  return [ofApp(app_id), ...each, ...whole].join(' AND ')
}

const isNumber = (value: string | number): boolean => /^\d{1,20}$/.test(`${value}`)

const literal = (value: string | number): string => {
  const text = `${value}`
  return isNumber(value) ? `${BigInt(text)}` : textLiteral(text)
}
