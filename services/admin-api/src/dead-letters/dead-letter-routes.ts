import { type DeadLetters, deadLetterRoutes } from '@tributary/contracts/admin/dead-letters'
import { consumers } from '@tributary/contracts/consumers'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import type { Topic } from '@tributary/contracts/topics'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { countByReason, findOpenLetters, type OpenLetter } from '@tributary/service-kit/dead-letters/dead-letters'
import type { ReadableLog } from '@tributary/service-kit/dead-letters/read-to-end'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance } from 'fastify'
import { addRoute } from '../add-route.ts'
import { adminRequest } from '../admin-request.ts'
import type { AdminApiDeps } from '../deps.ts'
import { retryDeadLetters } from './retry-dead-letters.ts'

/** Dead letters: what waits, and the way back to their topics. */
export function addDeadLetterRoutes(app: FastifyInstance, { pool, broker, now, logger }: AdminApiDeps): void {
  addRoute(app, deadLetterRoutes.listDeadLetters, async ({ query }) => {
    const found = topicsOf(query.topic).map(async (topic) =>
      byReason(topic, await findOpenLetters(broker, topic).catch(throwAway)),
    )
    return { dead: (await Promise.all(found)).flat() }
  })

  addRoute(app, deadLetterRoutes.retryDeadLetters, async ({ body: { topic, reason } }, request) => {
    const chosen = topicsOf(topic)
    const done = await unlessRunning(pool, 'retry of dead letters', async (lost) => {
      if (reason !== undefined) await requireKnownReason(broker, chosen, reason)
      const sum = { retried: 0, too_large: 0 }
      for (const one of chosen) {
        lost.throwIfAborted()
        // Before anything is published: a change without its entry must not be.
        const entry = { action: 'dead_letters.retry', subject: one.name, detail: { reason: reason ?? null } }
        await recordAdminAction(pool, adminRequest(request, now), entry)
        const { retried, too_large } = await retryDeadLetters(broker, one, reason, lost).catch(throwAway)
        logger.info({ topic: one.name, reason, retried, too_large }, 'dead letters retried')
        sum.retried += retried
        sum.too_large += too_large
      }
      return sum.too_large === 0 ? { retried: sum.retried } : sum
    })
    if (done === null) throw anotherRuns
    return done.result
  })
}

const anotherRuns = new CodedError('unavailable', {
  message: 'Another retry of dead letters runs.',
  headers: retrySoon,
})

/** The log did not do it; what it did stands, and the next call goes on behind it. */
function throwAway(cause: unknown): never {
  if (cause instanceof CodedError) throw cause
  throw new CodedError('unavailable', { message: 'The log is away.', cause })
}

/** The topics that have dead letters, or the one that is named. */
function topicsOf(name: string | undefined): Topic[] {
  const topics = new Map<string, Topic>(Object.values(consumers).map(({ topic }) => [topic.name, topic]))
  if (name === undefined) return [...topics.values()]
  const topic = topics.get(name)
  if (topic !== undefined) return [topic]
  const message = `must be a topic that a consumer reads: ${[...topics.keys()].join(', ')}`
  throw new CodedError('invalid_field', { field: 'topic', message })
}

/** A misspelt reason must not look like a retry that found nothing. */
async function requireKnownReason(log: ReadableLog, topics: readonly Topic[], reason: string): Promise<void> {
  const counts = await countByReason(log, topics).catch(throwAway)
  if (counts.has(reason)) return
  const known = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([one, count]) => `${one} (${count} wait)`)
  throw new CodedError('invalid_field', { field: 'reason', message: `must be one of ${known.join(', ')}` })
}

function byReason(topic: Topic, letters: readonly OpenLetter[]): DeadLetters['dead'] {
  const groups = [...Map.groupBy(letters, ({ reason }) => reason)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return groups.map(([reason, some]) => {
    const { first_ms, last_ms } = spanOf(some)
    return { topic: topic.name, reason, count: some.length, first_ms, last_ms }
  })
}

const spanOf = (letters: readonly OpenLetter[]) =>
  letters.reduce(
    ({ first_ms, last_ms }, { dead_ms }) => ({
      first_ms: Math.min(first_ms, dead_ms),
      last_ms: Math.max(last_ms, dead_ms),
    }),
    { first_ms: Number.POSITIVE_INFINITY, last_ms: 0 },
  )
