import { setInterval as every } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createSettler, whenQuiet } from '@tributary/settled/settler'
import { pino } from 'pino'

/** How often the service looks for days to settle. */
const tick_ms = 20_000

const logger = pino({ level: 'warn' })

/** Settles everything at once, as `tributary settle` does. */
export const settleAll = (clickhouse: Clickhouse): Promise<unknown> =>
  createSettler({ clickhouse, logger })({ quiet_ms: 0 })

/** Lets the settler work as the service does, for some minutes: the share of the time in which one of its statements ran. */
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
  let ticks = 0
  for await (const _ of every(tick_ms)) {
    await settle(whenQuiet)
    ticks += 1
    if (ticks * tick_ms >= minutes * 60_000) break
  }
  return busy_ms / (performance.now() - started)
}
