import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { StoreFault } from '@tributary/stores/ask'
import { findAnswer, keepAnswer } from '@tributary/tables/receipts/store-answers'
import type { Pool } from 'pg'

/** Answers that a process keeps in memory, of all apps: a transaction of Apple has some kilobytes. */
const kept_max = 5000
const denials: readonly unknown[] = ['not_found', 'wrong_bundle', 'wrong_product'] satisfies StoreFault[]

/** Asks a store once for each question, however many events carry it: memory first, then PostgreSQL, then the store. */
export interface RememberedAnswers {
  /** `isKept` says whether an answer that is no fault may be kept. */
  ask<Answer extends object>(
    question: readonly string[],
    ask: () => Promise<Answer | StoreFault>,
    isKept: (answer: Answer) => boolean | Promise<boolean>,
  ): Promise<Answer | StoreFault>
}

/** Answers of all apps in memory. */
export type KeptAnswers = Map<string, { answer: unknown; until_ms: number }>

/** The answers of one app. `elapsed` is a clock that never goes back, in milliseconds. */
export function createRememberedAnswers(
  postgres: Pool,
  app_id: string,
  elapsed: () => number,
  kept: KeptAnswers = new Map(),
): RememberedAnswers {
  const asking = new Map<string, Promise<unknown>>()

  function keep(question: string, answer: unknown, keep_ms: number): void {
    if (kept.size >= kept_max) kept.delete(kept.keys().next().value!)
    kept.set(`${app_id}/${question}`, { answer, until_ms: elapsed() + keep_ms })
  }

  async function find<Answer extends object>(
    question: string,
    ask: () => Promise<Answer | StoreFault>,
    isKept: (answer: Answer) => boolean | Promise<boolean>,
  ): Promise<Answer | StoreFault> {
    const text = await findAnswer(postgres, app_id, question)
    const known = text === null ? null : (JSON.parse(text) as Answer | StoreFault)
    const answer = known ?? (await ask())
    const is_kept = typeof answer === 'string' ? denials.includes(answer) : await isKept(answer)
    if (!is_kept) return answer
    const keep_ms = typeof answer === 'string' ? limits.store_denial_kept_ms : limits.store_answer_kept_ms
    // An answer that another process got stays out of memory: PostgreSQL alone knows when it ends.
    if (known === null) {
      await keepAnswer(postgres, { app_id, question, answer: JSON.stringify(answer), keep_ms })
      keep(question, answer, keep_ms)
    }
    return answer
  }

  return {
    async ask<Answer extends object>(
      asked: readonly string[],
      ask: () => Promise<Answer | StoreFault>,
      isKept: (answer: Answer) => boolean | Promise<boolean>,
    ) {
      const question = hash('sha256', JSON.stringify(asked))
      const held = kept.get(`${app_id}/${question}`)
      if (held !== undefined && held.until_ms > elapsed()) return held.answer as Answer | StoreFault
      const begun = asking.get(question) ?? find(question, ask, isKept).finally(() => asking.delete(question))
      asking.set(question, begun)
      return begun as Promise<Answer | StoreFault>
    },
  }
}
