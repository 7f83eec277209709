import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type DoorRequest, events_per_batch } from '../door/bodies.ts'

export interface OverloadReport {
  acknowledged: number
  offered_batches: number
  refused_batches: number
  seconds: number
  ack_ms: number[]
  refusal_ms: number[]
  /** Other answers, and connections that ended without an answer. */
  other: Record<string, number>
  /** Delay of this process itself, which limits the precision of all times. */
  client_late_p99_ms: number
}

/** Refused clients reuse their connections, so this only limits the requests that wait at the same time. */
const connections = 1500

/**
 * Offers batches at an even pace, whatever the answers. The allowed answers are 200, and 503 or 429 with `Retry-After`. The
 * time of a request starts when a connection gets it.
 */
export async function sendOverload(
  port: number,
  requests: readonly DoorRequest[],
  events_per_second: number,
  seconds: number,
): Promise<OverloadReport> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const report: OverloadReport = {
    ...{ acknowledged: 0, offered_batches: 0, refused_batches: 0, seconds: 0 },
    ...{ ack_ms: [], refusal_ms: [], other: {}, client_late_p99_ms: 0 },
  }
  const send = async ({ headers, body }: DoorRequest) => {
    const sent = performance.now()
    const answer = await pool.request({ method: 'POST', path: '/event', headers, body })
    await answer.body.dump()
    const ms = performance.now() - sent
    const refused = (answer.statusCode === 503 || answer.statusCode === 429) && 'retry-after' in answer.headers
    if (answer.statusCode === 200) {
      report.acknowledged += events_per_batch
      report.ack_ms.push(ms)
    } else if (refused) {
      report.refused_batches += 1
      report.refusal_ms.push(ms)
    } else count(String(answer.statusCode))
  }
  const count = (what: string) => {
    report.other[what] = (report.other[what] ?? 0) + 1
  }
  const pause_ms = (events_per_batch / events_per_second) * 1000
  const total = Math.floor((seconds * 1000) / pause_ms)
  const late = monitorEventLoopDelay({ resolution: 5 })
  late.enable()
  const started = performance.now()
  const open = new Set<Promise<void>>()
  while (report.offered_batches < total) {
    if (performance.now() < started + report.offered_batches * pause_ms) {
      await pause(1)
      continue
    }
    const sending = send(requests[report.offered_batches % requests.length]!)
      .catch((error: NodeJS.ErrnoException) => count(error.code ?? error.message))
      .finally(() => open.delete(sending))
    open.add(sending)
    report.offered_batches += 1
    // Answers must be read as they arrive, or their times would include this loop.
    if (report.offered_batches % 64 === 0) await new Promise(setImmediate)
  }
  await Promise.all(open)
  report.seconds = (performance.now() - started) / 1000
  report.client_late_p99_ms = late.percentile(99) / 1e6
  late.disable()
  await pool.close()
  return report
}
