import { createHash } from 'node:crypto'
import type { Clickhouse, InsertBlock } from './clickhouse.ts'
import type { FailedInserts } from './failed-inserts.ts'
import { insertDivided, type RefusedBlock } from './insert-divided.ts'

/** Where rows go to, and how their batch is known. */
export interface InsertRowsOptions {
  clickhouse: Pick<Clickhouse, 'insert'>
  failed: FailedInserts
  into: Pick<InsertBlock, 'table' | 'columns'>
  /** Token of the batch; each block adds the hash of its lines. */
  token: string
  attempt: number
}

interface Block<Row> {
  rows: readonly Row[]
  lines: string
}

/** A row that ClickHouse does not take. */
export interface RefusedRow<Row> {
  row: Row
  err: unknown
}

/**
 * Inserts rows into a table that is a set, one at least, and gives back those that ClickHouse can't take. A repeated batch
 * changes nothing.
 */
export async function insertRows<Row>(
  rows: readonly Row[],
  lineOf: (row: Row) => string,
  { clickhouse, failed, into, token: batch_token, attempt }: InsertRowsOptions,
): Promise<RefusedRow<Row>[]> {
  const toBlock = (some: readonly Row[]): Block<Row> => ({ rows: some, lines: some.map(lineOf).join('\n') })
  const refused: RefusedBlock<Block<Row>>[] = await insertDivided(toBlock(rows), {
    failed,
    tokenOf: ({ lines }) => `${batch_token}/${nameOfLines(lines)}`,
    halve({ rows: all }) {
      const half = Math.ceil(all.length / 2)
      return all.length < 2 ? null : [toBlock(all.slice(0, half)), toBlock(all.slice(half))]
    },
    insert: ({ lines }, token) => clickhouse.insert({ ...into, lines, token, attempt }),
  })
  return refused.map(({ block, err }) => ({ row: block.rows[0]!, err }))
}

/**
 * Names a block by its content. A log that was put back to an earlier state gives its offsets to other records, and a token
 * that comes twice with other rows would drop them in silence.
 */
export const nameOfLines = (lines: string): string => createHash('sha256').update(lines).digest('hex')
