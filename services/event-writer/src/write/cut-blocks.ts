import type { EventLine } from './event-line.ts'

/** The facts that decide the block of a row. */
export type PlacedRow = Pick<EventLine, 'day' | 'from' | 'to'> & { record: Pick<EventLine['record'], 'offset'> }

/** Rows that are inserted together. They are one part in each table, so each table has all of them or none. */
export interface Block<Row extends PlacedRow = EventLine> {
  rows: Row[]
  /** Names the rows among those of their batch; the same rows have the same name on every try. */
  name: string
}

/**
 * Bounds of a block. ClickHouse holds a block and what its views make of it in memory: 24 MiB of lines cost it about
 * 150 MB. A usual chunk of the log brings fewer than 50 000 rows, so it stays one insert.
 */
export const block_rows_max = 50_000
export const block_bytes_max = 24 * 1024 * 1024

/** Rows of a batch as blocks, in the order of the log. The rows of a record stay together. */
export function cutBlocks<Row extends PlacedRow>(rows: readonly Row[], rows_max = block_rows_max): Block<Row>[] {
  const blocks: Block<Row>[] = []
  let first = 0
  let bytes = 0
  const cutAt = (end: number) => {
    const block = rows.slice(first, end)
    if (block.length > 0) blocks.push({ rows: block, name: nameOf(block) })
    first = end
    bytes = 0
  }
  for (let at = 0, next = 0; at < rows.length; at = next) {
    let record_bytes = 0
    for (; next < rows.length && rows[next]!.record === rows[at]!.record; next += 1) {
      record_bytes += rows[next]!.to - rows[next]!.from
    }
    if (at > first && (next - first > rows_max || bytes + record_bytes > block_bytes_max)) cutAt(at)
    bytes += record_bytes
  }
  cutAt(rows.length)
  return blocks
}

/** Two blocks of whole records in the place of one; a single record is not divided. */
export function halveBlock({ rows, name }: Block): [Block, Block] | null {
  const records = Map.groupBy(rows, ({ record }) => record.offset)
  if (records.size < 2) return null
  const groups = [...records.values()]
  const half = Math.ceil(groups.length / 2)
  const [first, second] = [groups.slice(0, half).flat(), groups.slice(half).flat()]
  return [
    { rows: first, name: `${name}/a` },
    { rows: second, name: `${name}/b` },
  ]
}

const nameOf = (rows: readonly PlacedRow[]): string =>
  `${rows[0]!.record.offset}-${rows.at(-1)!.record.offset}.${rows.length}`
