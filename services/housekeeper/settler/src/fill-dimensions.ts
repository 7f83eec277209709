import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { afterRunning, unlessRunning } from '@tributary/postgres/one-at-a-time'
import { fillDimensions, findUnfilled } from '@tributary/tables/attribution/fill-dimensions'
import type { Pool } from 'pg'

/** Longer than most steps of the eraser, and shorter than PostgreSQL lets a statement take. */
const eraser_wait_ms = 5000

/**
 * Fills the table that reports group installs by with the verdicts of before an upgrade, once a process: afterwards the view of the table
 * does it. Gives back whether it is filled. Money is settled from it and has no stamp of it, so nothing is settled before.
 */
export function fillDimensionsOnce({ pool, clickhouse }: { pool: Pool; clickhouse: Clickhouse }) {
  let is_filled = false
  return async (stop: AbortSignal): Promise<boolean> => {
    if (is_filled) return true
    await unlessRunning(pool, 'dimensions', async (lost) => {
      const ended = AbortSignal.any([stop, lost])
      for (const app of await findUnfilled(clickhouse)) {
        await fillDimensions(clickhouse, app, async (fill) => {
          ended.throwIfAborted()
          const done = await afterRunning(pool, raw_events_lock, eraser_wait_ms, fill)
          if (done === null) throw new Error('The eraser is at work. The next run goes on.')
        })
      }
      is_filled = true
    })
    return is_filled
  }
}
