import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Pause } from '@tributary/service-kit/service/pauses'

/** Time between two rests, ms. */
const slice_ms = 5

/** Resolves after this time, or rejects when the signal fires. */
type Rests = (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<unknown>

export interface Pace {
  /** Lets others run, and rests as long as the work since the last rest allows. Rejects when the signal fires. */
  pause: Pause
  /** The same engine; its statements count as work of one core. */
  paced(clickhouse: Pick<Clickhouse, 'query'>): Pick<Clickhouse, 'query'>
}

/**
 * Keeps work at a share of a core (0 to 1). It counts the CPU of this process between two rests, whoever used it, and the time of
 * statements: the work is never more than that.
 */
export function createPace(share: number, signal: AbortSignal, rests: Rests = sleep): Pace {
  let cpu = process.cpuUsage()
  let since_ms = performance.now()
  let statements_ms = 0

  async function rest(): Promise<void> {
    await nextTurn()
    const { user, system } = process.cpuUsage(cpu)
    const busy_ms = Math.max((user + system) / 1000, statements_ms)
    if (share < 1) await rests(busy_ms * (1 / share - 1), undefined, { signal })
    cpu = process.cpuUsage()
    since_ms = performance.now()
    statements_ms = 0
  }

  return {
    pause: () => (performance.now() - since_ms < slice_ms ? undefined : rest()),
    paced: (clickhouse) => ({
      async query(sql, params) {
        const began_ms = performance.now()
        try {
          return await clickhouse.query(sql, params)
        } finally {
          statements_ms += performance.now() - began_ms
        }
      },
    }),
  }
}
