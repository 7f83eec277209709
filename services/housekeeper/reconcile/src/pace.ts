import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Pause } from '@tributary/service-kit/service/pauses'

/** Time between two rests, ms. */
const slice_ms = 5

/** Resolves after this time, or rejects when the signal fires. */
type Rests = (ms: number, value: undefined, options: { signal: AbortSignal }) => Promise<unknown>

/** Real ones by default. */
export interface PaceClock {
  rests: Rests
  now_ms(): number
  /** CPU that this process has used. */
  cpu_ms(): number
}

function cpuOfProcess(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export interface Pace {
  /** Lets others run, and rests as long as the work since the last rest allows. Rejects when the signal fires. */
  pause: Pause
  /** The same engine; its statements count as work of one core, and each rests behind it. */
  paced(clickhouse: Pick<Clickhouse, 'query'>): Pick<Clickhouse, 'query'>
}

/**
 * Keeps work at a share of a core (0 to 1). It counts the CPU of this process between two rests, whoever used it, and the time of
 * statements, which another process may work on: the work is never more than both.
 */
export function createPace(
  share: number,
  signal: AbortSignal,
  { rests = sleep, now_ms = () => performance.now(), cpu_ms = cpuOfProcess }: Partial<PaceClock> = {},
): Pace {
  let worked_ms = cpu_ms()
  let since_ms = now_ms()
  let statements_ms = 0

  async function rest(): Promise<void> {
    await nextTurn()
    const busy_ms = cpu_ms() - worked_ms + statements_ms
    if (share < 1) await rests(busy_ms * (1 / share - 1), undefined, { signal })
    worked_ms = cpu_ms()
    since_ms = now_ms()
    statements_ms = 0
  }

  const pause = () => (now_ms() - since_ms < slice_ms ? undefined : rest())
  return {
    pause,
    paced: (clickhouse) => ({
      async query(sql, params) {
        const began_ms = now_ms()
        const rows = await clickhouse.query(sql, params).finally(() => {
          statements_ms += now_ms() - began_ms
        })
        await pause()
        return rows as never
      },
    }),
  }
}
