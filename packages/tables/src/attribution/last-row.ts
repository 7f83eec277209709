/** The kit keeps this with the offset: the last row that the partition wrote since its log began; null before the first. */
export interface LastRow<Row> {
  last: Row | null
}

/** The kept row; null for what nobody of us kept. */
export const lastRowOf = <Row>(kept: unknown): Row | null =>
  typeof kept === 'object' && kept !== null && 'last' in kept ? (kept as LastRow<Row>).last : null

/** Where a partition is taken over. */
interface TakenOver {
  state: unknown
  /** Last offset of a batch that was declared and perhaps not finished; null without one. */
  open_to: number | null
}

interface Table<Row> {
  hasRow(last: Row): Promise<boolean>
  /** Whether the log of the partition wrote a row behind an offset. */
  hasRowsBehind?(offset: number, last: Row | null): Promise<boolean>
}

/**
 * Compares a table with what the group of its writer committed. Without the last row the table was put back to an earlier
 * state: the log is read again, and what is written is a set. Rows behind the offsets tell that the log was put back: its
 * offsets mean other records now, and need another identity.
 */
export async function misfitOfLastRow<Row extends { offset: number }>(
  { state, open_to }: TakenOver,
  { hasRow, hasRowsBehind }: Table<Row>,
) {
  const last = lastRowOf<Row>(state)
  if (last !== null && !(await hasRow(last))) return { reason: 'tables_lack_rows', reread: true }
  const known_to = Math.max(last?.offset ?? -1, open_to ?? -1)
  return (await hasRowsBehind?.(known_to, last)) ? { reason: 'tables_are_ahead', reread: false } : null
}
