import { setTimeout as sleep } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createPauses, type Pause } from '@tributary/service-kit/service/pauses'

/** Work between two rests, ms of a core. */
const slice_ms = 5

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
export function createPace(share: number, signal: AbortSignal): Pace {
  const yielding = createPauses()
  let cpu = process.cpuUsage()
  let statements_ms = 0

  async function rest(): Promise<void> {
    const { user, system } = process.cpuUsage(cpu)
    const busy_ms = Math.max((user + system) / 1000, statements_ms)
    if (busy_ms < slice_ms) return
    await sleep(busy_ms * (1 / share - 1), undefined, { signal })
    cpu = process.cpuUsage()
    statements_ms = 0
  }

  return {
    async pause() {
      await yielding()
      await rest()
    },
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
