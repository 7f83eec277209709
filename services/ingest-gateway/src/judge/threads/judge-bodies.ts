import { limits } from '@tributary/contracts/limits'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { claimedBytes, createReadSmallBody, type WireBody } from '../read-body.ts'
import { type Judge, type Judged, judgedMs, judges, type Kind } from './judges.ts'
import { createTimeShares } from './time-shares.ts'
import { openWorker } from './worker-queue.ts'

export interface JudgeBodies {
  /**
   * Judges a body, and throws the errors of `readBody` and of its judge. It calls `hold` with the number of bytes that
   * are kept until the request has ended.
   */
  judge<K extends Kind>(kind: K, body: WireBody, input: Judged[K]['input'], hold: Hold): Promise<Judged[K]['judged']>
  close(): Promise<void>
}
type Hold = (bytes: number) => void

/**
 * Judges bodies so that none holds the event loop for long, whatever its content. The event loop judges batches in the
 * form of SDKs and small bodies, while their app and its company have time left in this second. All other bodies go to
 * a thread, one at a time (`openWorker`), so at most one large body is inflated at once.
 */
export function createJudgeBodies({ logger, registry }: { logger: Logger; registry: Registry }): JudgeBodies {
  const judgeHere = createJudgeHere()
  const worker = openWorker({ logger, registry })
  const time = createTimeShares({ ms_per_s: limits.inline_judge_ms_per_s, now: () => performance.now() })

  return {
    async judge(kind, body, input, hold) {
      const judge = judges[kind] as Judge<typeof input, Judged[typeof kind]['judged']>
      const sender = input.facts
      const ms = judgedMs(claimedBytes(body, judge))
      const here = time.isLeft(sender, ms) ? time.measure(sender, () => judgeHere(judge, body, input)) : null
      const judged = here ?? (await worker.judge(kind, body, input))
      hold(judge.storedBytes(judged))
      return judged
    },
    close: () => worker.close(),
  }
}

/** Judges bodies that take at most about 13 ms; null for other bodies. */
function createJudgeHere() {
  const readSmall = createReadSmallBody()
  return <Input, Output>(judge: Judge<Input, Output>, body: WireBody, input: Input): Output | null => {
    const small = readSmall(body, judge)
    if (small === null) return null
    const plain = judge.judgePlain?.(small.body, body.wire, input, small.plain_gzip) ?? null
    if (plain !== null || small.body.length > limits.inline_json_bytes_max) return plain
    return judge.judge(small.body, body.wire, input)
  }
}
