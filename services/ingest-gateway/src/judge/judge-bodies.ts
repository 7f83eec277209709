import { limits } from '@tributary/contracts/limits'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Judge, type Judged, judges, type Kind } from './judges.ts'
import { createReadSmallBody, type WireBody } from './read-body.ts'
import { openWorker } from './worker-queue.ts'

export interface JudgeBodies {
  /**
   * What a body comes to, with the errors of `readBody` and of its judge. `hold` is called with the bytes of the inflated
   * body: before it is judged here, or once the thread, which inflates one body at a time, has judged it.
   */
  judge<K extends Kind>(kind: K, body: WireBody, input: Judged[K]['input'], hold: Hold): Promise<Judged[K]['judged']>
  close(): Promise<void>
}
type Hold = (bytes: number) => void

/**
 * Judges bodies so that none holds the event loop for long, whatever stands in it. Here: batches as SDKs send them, and
 * others that are small, while their app has time left of `limits.inline_judge_ms_per_s`. Everything else goes to a
 * thread of its own, one body at a time, apps taking turns; so no more than one large body is inflated at once.
 */
export function createJudgeBodies({ logger, registry }: { logger: Logger; registry: Registry }): JudgeBodies {
  const readSmall = createReadSmallBody()
  const worker = openWorker({ logger, registry })
  const time = createTimeShares(limits.inline_judge_ms_per_s)

  return {
    async judge(kind, body, input, hold) {
      const judge = judges[kind] as Judge<typeof input, Judged[typeof kind]['judged']>
      const small = readSmall(body, judge)
      const { app_id } = input.facts
      if (small !== null) {
        if (small !== body.wire) hold(small.length)
        const plain = judge.judgePlain?.(small, body.wire, input) ?? null
        if (plain !== null) return plain
        if (small.length <= limits.inline_json_bytes_max && time.isLeft(app_id)) {
          return time.measure(app_id, () => judge.judge(small, body.wire, input))
        }
      }
      const { judged, inflated_bytes } = await worker.judge(kind, body, input)
      if (small === null && inflated_bytes !== body.wire.length) hold(inflated_bytes)
      return judged
    },
    close: () => worker.close(),
  }
}

/** Milliseconds of the event loop that each holder may use in a second; the last job may go beyond. */
function createTimeShares(ms_per_s: number) {
  const usedBy = new Map<string, number>()
  let since_ms = performance.now()
  return {
    isLeft(holder: string): boolean {
      const now_ms = performance.now()
      if (now_ms - since_ms >= 1000) {
        usedBy.clear()
        since_ms = now_ms
      }
      return (usedBy.get(holder) ?? 0) < ms_per_s
    },
    measure<T>(holder: string, work: () => T): T {
      const from_ms = performance.now()
      try {
        return work()
      } finally {
        usedBy.set(holder, (usedBy.get(holder) ?? 0) + performance.now() - from_ms)
      }
    },
  }
}
