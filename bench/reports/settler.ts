import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import { pino } from 'pino'

const logger = pino({ level: 'warn' })

/** Settles everything at once, as `tributary settle` does. */
export const settleAll = (clickhouse: Clickhouse): Promise<unknown> =>
  createSettler({ clickhouse, logger })({ quiet_ms: 0 })

/**
 * Runs the settler by the rule of its job until `stop`, which resolves with the share of the time in which its statements ran, 0 to 1. By the
 * clock of the engine the last day of the bench is over, so its money is settled after 8 changes, and not by the rule of today.
 */
export function startSettler(clickhouse: Clickhouse) {
  let busy_ms = 0
  const timed = async <Result>(statement: Promise<Result>): Promise<Result> => {
    const started = performance.now()
    try {
      return await statement
    } finally {
      busy_ms += performance.now() - started
    }
  }
  const settle = createSettler({
    clickhouse: {
      ...clickhouse,
      query: (sql, params) => timed(clickhouse.query(sql, params)),
      command: (sql, options) => timed(clickhouse.command(sql, options)),
      insert: (block) => timed(clickhouse.insert(block)),
    },
    logger,
  })
  const started = performance.now()
  const over = new AbortController()
  const running = (async () => {
    for (;;) {
      await pause(limits.settle_pause_ms, null, { signal: over.signal })
      await settle({ ...whenQuiet, signal: over.signal })
    }
  })().catch((error) => {
    if (!over.signal.aborted) throw error
  })
  return {
    async stop(): Promise<number> {
      over.abort()
      await running
      return busy_ms / (performance.now() - started)
    },
  }
}
