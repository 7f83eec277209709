import type { Broker } from '@tributary/broker/broker'
import { AskedRetry, type DeadLettersRetried } from '@tributary/contracts/admin/dead-letters'
import { consumedTopics } from '@tributary/contracts/consumers'
import { doAwaited, type JobInHand } from '@tributary/postgres/awaited-jobs'
import { type ReadableLog, throwLogAway } from '@tributary/service-kit/dead-letters/read-to-end'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { retryDeadLetters } from './retry-dead-letters.ts'

interface RetryJobDeps {
  pool: Pool
  broker: ReadableLog & Pick<Broker, 'publish'>
  now: () => number
  logger: Logger
}

/** Retries dead letters when somebody asks for it, also when nobody waits any more. */
export function retryWhenAsked({ pool, broker, now, logger }: RetryJobDeps) {
  async function work({ asked, ended }: JobInHand): Promise<DeadLettersRetried> {
    const { topics, reason } = AskedRetry.parse(asked)
    const sum = { retried: 0, too_large: 0 }
    for (const topic of consumedTopics.filter(({ name }) => topics.includes(name))) {
      ended.throwIfAborted()
      const { retried, too_large } = await retryDeadLetters(broker, topic, reason, ended).catch(throwLogAway)
      logger.info({ topic: topic.name, reason, retried, too_large }, 'dead letters retried')
      sum.retried += retried
      sum.too_large += too_large
    }
    return sum.too_large === 0 ? { retried: sum.retried } : sum
  }

  return (stop: AbortSignal) => doAwaited(pool, 'dead_retry', { now, stop, work })
}
