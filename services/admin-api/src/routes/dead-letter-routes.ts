import { setTimeout as pause } from 'node:timers/promises'
import { addRoute } from '@tributary/admin-http/add-route'
import { adminRequest } from '@tributary/admin-http/admin-request'
import {
  type AskedRetry,
  type DeadLetters,
  DeadLettersRetried,
  deadLetterRoutes,
} from '@tributary/contracts/admin/dead-letters'
import { consumedTopics } from '@tributary/contracts/consumers'
import { CodedError, retrySoon } from '@tributary/contracts/errors'
import type { Topic } from '@tributary/contracts/topics'
import { askAwaited, awaitJob } from '@tributary/postgres/awaited-jobs'
import { inTransaction } from '@tributary/postgres/transaction'
import { countByReason, findOpenLetters, type OpenLetter } from '@tributary/service-kit/dead-letters/dead-letters'
import { type ReadableLog, throwLogAway } from '@tributary/service-kit/dead-letters/read-to-end'
import { recordAdminAction } from '@tributary/tenancy/companies/admin-audit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { look_pause_ms, unavailable, untilBegun } from '../asked/asked-work.ts'
import type { AdminApiDeps } from '../deps.ts'

/** Dead letters: what waits, and the way back to their topics. */
export function addDeadLetterRoutes(app: FastifyInstance, { pool, broker, now }: AdminApiDeps): void {
  addRoute(app, deadLetterRoutes.listDeadLetters, async ({ query }) => {
    const chosen = topicsOf(query.topic)
    return { dead: await listDead(broker, chosen) }
  })

  const stop = new AbortController()
  app.addHook('preClose', async () => stop.abort(unavailable('admin-api ends.')))
  addRoute(app, deadLetterRoutes.retryDeadLetters, async ({ body: { topic, reason } }, request) => {
    const chosen = topicsOf(topic)
    if (reason !== undefined) await requireKnownReason(broker, chosen, reason)
    const asked: AskedRetry = { topics: chosen.map(({ name }) => name), reason }
    const number = await askForRetry({ pool, now }, asked, request)
    await untilBegun({ pool, now }, number, stop.signal)
    // It goes on when its caller has gone: what it has begun is worth its end.
    for (;;) {
      const { outcome } = await awaitJob(pool, number)
      if (outcome !== null) return retriedOf(outcome)
      stop.signal.throwIfAborted()
      await pause(look_pause_ms, undefined, { signal: stop.signal }).catch(() => {})
    }
  })
}

/** The dead letters that wait, by topic and reason. */
export async function listDead(log: ReadableLog, of: readonly Topic[] = consumedTopics): Promise<DeadLetters['dead']> {
  const found = of.map(async (topic) => byReason(topic, await findOpenLetters(log, topic).catch(throwLogAway)))
  return (await Promise.all(found)).flat()
}

/** The number of the work. What it changes is in the audit log before it begins. */
const askForRetry = ({ pool, now }: Pick<AdminApiDeps, 'pool' | 'now'>, asked: AskedRetry, request: FastifyRequest) =>
  inTransaction(pool, async (client) => {
    const number = await askAwaited(client, 'dead_retry', asked, now())
    if (number === null) throw anotherRuns
    for (const subject of asked.topics) {
      const entry = { action: 'dead_letters.retry', subject, detail: { reason: asked.reason ?? null } }
      await recordAdminAction(client, adminRequest(request, now), entry)
    }
    return number
  })

function retriedOf(outcome: object): DeadLettersRetried {
  if ('error' in outcome) throw unavailable(String(outcome.error))
  return DeadLettersRetried.parse(outcome)
}

const anotherRuns = new CodedError('unavailable', {
  message: 'Another retry of dead letters runs.',
  headers: retrySoon,
})

/** The topics that have dead letters, or the one that is named. */
function topicsOf(name: string | undefined): Topic[] {
  const chosen = consumedTopics.filter((topic) => name === undefined || topic.name === name)
  if (chosen.length > 0) return chosen
  const message = `must be a topic that a consumer reads: ${consumedTopics.map((topic) => topic.name).join(', ')}`
  throw new CodedError('invalid_field', { field: 'topic', message })
}

/** A misspelt reason must not look like a retry that found nothing. */
async function requireKnownReason(log: ReadableLog, topics: readonly Topic[], reason: string): Promise<void> {
  const counts = await countByReason(log, topics).catch(throwLogAway)
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
