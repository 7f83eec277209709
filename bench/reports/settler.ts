import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import { pino } from 'pino'

const logger = pino({ level: 'warn' })

/** Settles everything at once, as `tributary settle` does. */
export const settleAll = (clickhouse: Clickhouse): Promise<unknown> =>
  createSettler({ clickhouse, logger })({ quiet_ms: 0 })

/** Runs the settler for some minutes as the service does. Resolves with the share of that time in which its statements ran, 0 to 1. */
export async function measureSettler(clickhouse: Clickhouse, minutes: number): Promise<number> {
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
  while (performance.now() - started < minutes * 60_000) {
    await pause(limits.settle_pause_ms)
    await settle(whenQuiet)
  }
  return busy_ms / (performance.now() - started)
}
