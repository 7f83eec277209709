import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { engine_today } from '@tributary/tables/settled/find-due'
import { createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import { pino } from 'pino'
import { now_ms } from './model.ts'

const logger = pino({ level: 'warn' })

/** Settles everything at once, as `tributary settle` does. */
export const settleAll = (clickhouse: Clickhouse): Promise<unknown> =>
  createSettler({ clickhouse, logger })({ quiet_ms: 0 })

/** The last day of the bench, which is not over. The settler asks the engine for the day of its clock. */
const today = `toDate('${utcDay(now_ms)}')`

/** Runs the settler by the rule of its job until `stop`, which resolves with the share of the time in which its statements ran, 0 to 1. */
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
      query: (sql, params) => timed(clickhouse.query(sql.replaceAll(engine_today, today), params)),
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
