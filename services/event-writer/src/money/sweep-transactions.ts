import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'
import { findContested } from '@tributary/tables/money/find-contested'

const clock_ms = 'toUnixTimestamp64Milli(now64(3))'
/** Rows get their time some moments before every reader sees them. This is far longer than those moments. */
const overlap_ms = 10 * 60_000
/** How far before the newest row the first run looks: a process that stopped left at most its last minute unswept. */
const first_ms = day_ms

/**
 * A sweep for transactions whose money several events have, because two partitions wrote at the same moment or a batch
 * ended half-way. Returns how many events it cancelled. The first run looks at the last day on which rows were written,
 * each later run at rows written since (by ClickHouse's clock). The next run does what a failed one left. The first
 * run, and a run after a failed one, insert again what they find cancelled. Any number of processes may sweep.
 */
export function transactionSweep(clickhouse: Clickhouse): () => Promise<number> {
  let again = true
  // Rows that a clock ahead has written come after it too.
  let since = `(SELECT least(max(written_at_ms), ${clock_ms}) FROM transaction_keys_v1) - ${first_ms}`
  return async () => {
    const [clock] = await clickhouse.query<{ now_ms: number }>(`SELECT ${clock_ms} AS now_ms`)
    const suspects = await findContested(clickhouse, since)
    const found = { again }
    again = true
    const cancelled = await cancelBeatenClaims(clickhouse, suspects, found)
    again = false
    since = `${clock!.now_ms - overlap_ms}`
    return cancelled
  }
}
