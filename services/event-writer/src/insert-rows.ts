import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { eventRowColumns } from '@tributary/contracts/rows'

/** A row as a line of JSONCompactEachRow, newline included, and the record that it came with. */
export interface RowLine {
  record: LogRecord
  /** Holds the line from `from` up to `to`, exclusive, and perhaps others. */
  bytes: Buffer
  from: number
  to: number
}

export interface RefusedRow {
  record: LogRecord
  err: unknown
}

/**
 * Inserts the rows as one block under the token and gives back the rows that ClickHouse can't read; no rows, no insert.
 *
 * Rows are made by us from checked events, so an unreadable one means that table and code disagree. It must not hold
 * up its partition for ever: the block is halved until only the unreadable rows are left over. A block that could not
 * be read never became a block, so nothing of it has landed in the table or a view; the halves carry tokens of their
 * own that follow from the batch token alone. So a repetition after a crash takes the same way and changes nothing.
 */
export async function insertRows(
  clickhouse: Clickhouse,
  rows: readonly RowLine[],
  token: string,
): Promise<RefusedRow[]> {
  if (rows.length === 0) return []
  try {
    await clickhouse.insert({ table: 'events_raw_v1', columns: eventRowColumns, lines: joinLines(rows), token })
    return []
  } catch (err) {
    if (!isUnreadable(err)) throw err
    if (rows.length === 1) return [{ record: rows[0]!.record, err }]
    const half = Math.ceil(rows.length / 2)
    const refused = await insertRows(clickhouse, rows.slice(0, half), `${token}/a`)
    return [...refused, ...(await insertRows(clickhouse, rows.slice(half), `${token}/b`))]
  }
}

/** The lines one after another. Neighbours in the same bytes are copied together: most often all of a record. */
function joinLines(rows: readonly RowLine[]): Buffer {
  const lines = Buffer.allocUnsafe(rows.reduce((total, { from, to }) => total + to - from, 0))
  let at = 0
  for (let n = 0; n < rows.length; ) {
    const { bytes, from } = rows[n]!
    let { to } = rows[n]!
    for (n += 1; n < rows.length && rows[n]!.bytes === bytes && rows[n]!.from === to; n += 1) to = rows[n]!.to
    at += bytes.copy(lines, at, from, to)
  }
  return lines
}

/**
 * True only when the input format itself gave up on a row. It says so with the number of the row; when it names the
 * column too, that is all that the HTTP client leaves of the text. An error of a view may carry the same code, but then
 * the table may hold the block already: that one must be repeated as it is.
 */
function isUnreadable(err: unknown): boolean {
  if (!(err instanceof Error) || /while pushing to view/i.test(err.message)) return false
  return /\(at row \d+\)|\(while reading the value of key /.test(err.message)
}
