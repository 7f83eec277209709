import { textLiteral } from '@tributary/clickhouse/literals'
import type { ActOnTables } from './act-on-tables.ts'

/** Proven postbacks that one statement holds in memory. */
const proven_together = 1_000_000

/**
 * Deletes the rows of postbacks of earlier days than `before` (`YYYY-MM-DD`) that no signature proves
 * (docs/rules.md#expired-postbacks). The decoded ones go last: they tell which days are left, so that a crash leaves less to do.
 */
export async function deleteUnproven(
  { clickhouse, signal, act, onRows }: ActOnTables,
  before: string,
  together = proven_together,
): Promise<void> {
  const days = await clickhouse.query<UnprovenDay>(
    `SELECT toString(day) AS on, countIf(verdict = 'valid') AS proven FROM postbacks_decoded_v1
     WHERE day < toDate(${textLiteral(before)}) GROUP BY day HAVING countIf(verdict != 'valid') > 0 ORDER BY day`,
  )
  for (const { from, to } of spansOf(days, together)) {
    const inDays = `day >= toDate(${textLiteral(from)}) AND day <= toDate(${textLiteral(to)})`
    const proven = `SELECT topic, partition, offset FROM postbacks_decoded_v1 WHERE ${inDays} AND verdict = 'valid'`
    const remove = async (table: string, unproven: string, reads_other_table?: true) => {
      const where = `${inDays} AND ${unproven}`
      const mutation = { table, action: 'DELETE', where, signal, ...(reads_other_table && { reads_other_table }) }
      onRows(table, await act(clickhouse, mutation))
    }
    await remove('postbacks_raw_v1', `(topic, partition, offset) NOT IN (${proven})`, true)
    await remove('postback_publishers_v1', 'valid = 0')
    await remove('postbacks_decoded_v1', `verdict != 'valid'`)
  }
}

interface UnprovenDay {
  on: string
  proven: number
}

/** Days in a row with about so many proven postbacks. */
function spansOf(days: readonly UnprovenDay[], together: number): { from: string; to: string }[] {
  const spans: { from: string; to: string; proven: number }[] = []
  for (const { on, proven } of days) {
    const last = spans.at(-1)
    if (last === undefined || last.proven + proven > together) spans.push({ from: on, to: on, proven })
    else Object.assign(last, { to: on, proven: last.proven + proven })
  }
  return spans
}
