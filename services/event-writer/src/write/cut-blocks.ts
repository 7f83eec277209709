import type { EventLine } from './event-line.ts'

/** What a row is placed by. */
export type PlacedRow = Pick<EventLine, 'day' | 'from' | 'to'> & { record: Pick<EventLine['record'], 'offset'> }

/** Rows that are inserted together: one part in each table, so each table has all of them or none. */
export interface Block<Row extends PlacedRow = EventLine> {
  rows: Row[]
  /** Names the rows among those of their batch; the same rows have the same name on every try. */
  name: string
}

/**
 * Bounds of a block. ClickHouse holds a block and what its views make of it in memory: 24 MiB of lines cost it about 150 MB.
 * 50 000 rows are above what a usual chunk of the log brings, which so stays one insert.
 */
export const block_rows_max = 50_000
export const block_bytes_max = 24 * 1024 * 1024

/**
 * Rows of a batch as blocks in a fixed order: by year, since the table is partitioned by it and a block of two years
 * would become two parts, of which a kill may leave one; within a year in the order of the log. The rows that a record
 * has in a year stay together.
 */
export function cutBlocks<Row extends PlacedRow>(rows: readonly Row[], rows_max = block_rows_max): Block<Row>[] {
  const byYear = splitByYear(rows)
  return [...byYear.keys()]
    .toSorted()
    .flatMap((year) =>
      cutYear(byYear.get(year)!, rows_max).map((block) => ({ rows: block, name: nameOf(year, block) })),
    )
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

export const yearOf = ({ day }: Pick<EventLine, 'day'>): string => day.slice(0, 4)

/** Neighbours mostly have the same day: the text is cut once for them. */
function splitByYear<Row extends PlacedRow>(rows: readonly Row[]): Map<string, Row[]> {
  const byYear = new Map<string, Row[]>()
  let day = ''
  let list: Row[] = []
  for (const row of rows) {
    if (row.day !== day) {
      day = row.day
      list = byYear.get(yearOf(row)) ?? []
      byYear.set(yearOf(row), list)
    }
    list.push(row)
  }
  return byYear
}

function cutYear<Row extends PlacedRow>(rows: Row[], rows_max: number): Row[][] {
  const blocks: Row[][] = []
  let first = 0
  let bytes = 0
  for (let at = 0, next = 0; at < rows.length; at = next) {
    let record_bytes = 0
    for (; next < rows.length && rows[next]!.record === rows[at]!.record; next += 1) {
      record_bytes += rows[next]!.to - rows[next]!.from
    }
    if (at > first && (next - first > rows_max || bytes + record_bytes > block_bytes_max)) {
      blocks.push(rows.slice(first, at))
      first = at
      bytes = 0
    }
    bytes += record_bytes
  }
  blocks.push(first === 0 ? rows : rows.slice(first))
  return blocks
}

const nameOf = (year: string, rows: readonly PlacedRow[]): string =>
  `${year}/${rows[0]!.record.offset}-${rows.at(-1)!.record.offset}.${rows.length}`
