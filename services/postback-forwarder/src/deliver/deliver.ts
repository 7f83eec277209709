import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import { newestTombstones } from '@tributary/domain/erasure/tombstones'
import type { Targets } from '@tributary/domain/partner/targets'
import {
  type EndedTry,
  findDueTargets,
  removeTaken,
  type TakenPostback,
  type TryKey,
  takeDue,
} from '@tributary/tables/partners/due-postbacks'
import type { ResolveHost } from '@tributary/tenancy/resolve-host'
import { isSecretUnreadable, type MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { ForwarderMetrics } from '../metrics.ts'
import { createAhead } from './ahead.ts'
import { postbackAgent } from './connect.ts'
import { createPace, type Pace } from './pace.ts'
import { partnerSecrets } from './partner-secrets.ts'
import { type Answer, isRepeated, sendPostback, unanswered } from './send.ts'
import { endedTries, isErasedLife, type TriesDeps } from './tries.ts'

export interface DeliverDeps extends TriesDeps {
  postgres: Pool
  masterKeys: MasterKeys
  targets: Targets
  resolve: ResolveHost
  metrics?: ForwarderMetrics
  /** A number from 0 to 1, for jitter. */
  random?(): number
  /** Tests have it called before a try is sent, and after it was answered; throwing is the crash. */
  crash?(step: 'taken' | 'answered'): void
}

/** Pause after a look for what is due that found nothing. */
const look_pause_ms = 250
/** Least pause after a look: tries that end in it share the next one. */
const look_gap_ms = 10
/** A stop waits so long until answered tries are logged and marked. */
const settle_ms = 2000

/**
 * Works off what is due, with any number of other processes:
 * 1. takes postbacks for a try each, under a lease. A crash now: they are due again when it ends
 * 2. sends them. A crash now: they are sent again, with the same key and content
 * 3. logs the tries, then marks them: delivered, due later, or dead
 */
export function deliverer(deps: DeliverDeps) {
  const { postgres, now } = deps
  const agent = postbackAgent(deps)
  const pace = createPace(now)
  const tries = endedTries(deps)
  const secretOf = partnerSecrets(postgres, deps.masterKeys)
  const at_work = new Set<Promise<void>>()
  let wake: () => void = () => {}
  /** The fault of a try, with which `work` rejects. */
  let fault: { err: unknown } | null = null

  const ahead = createAhead(pace, { begin: beginTry, giveBack: (one) => tries.add(untried(one)) })
  let stop = new AbortController().signal
  /** Number of the newest tombstone that what waits was compared with. */
  let compared_number = 0

  /** Takes as much as has room, begins it or has it wait, and returns how much that is. What waits is compared with new tombstones in any case. */
  async function take(): Promise<number> {
    const hasRoom = pace.hasRoom() && tries.hasRoom()
    const taken = hasRoom ? await takeDue(postgres, pace.share(await findDueTargets(postgres))) : []
    if (taken.length === 0 && ahead.isEmpty()) return 0
    for (const one of await withoutErased(taken)) ahead.add(one)
    if (stop.aborted) ahead.clear()
    return taken.length
  }

  /**
   * Removes what is of an erased life, also of what waits: the eraser ends what is due when its turn comes, and a test may show an install
   * that it has not deleted yet. An erasure that this does not know finds the leases.
   */
  async function withoutErased(taken: readonly TakenPostback[]): Promise<readonly TakenPostback[]> {
    const tombstones = await newestTombstones(deps.erased)
    const isGone = (one: TakenPostback) => isErasedLife(tombstones, one)
    const gone = [...taken.filter(isGone), ...(tombstones.number === compared_number ? [] : ahead.drop(isGone))]
    compared_number = tombstones.number
    if (gone.length > 0) await removeTaken(postgres, gone)
    return taken.filter((one) => !gone.includes(one))
  }

  function beginTry(one: TakenPostback): void {
    const work = tryOnce({ ...deps, agent, pace, tries, secretOf }, one, stop)
      .catch((err: unknown) => {
        fault = { err }
      })
      .finally(() => {
        at_work.delete(work)
        if (stop.aborted || fault !== null) ahead.clear()
        else ahead.next(one)
        wake()
      })
    at_work.add(work)
  }

  return {
    /** Looks again at once: something new may be due. */
    wake: () => wake(),
    /** Works until the signal fires. Rejects when PostgreSQL is away, or with the fault of a try; call it again. */
    async work(signal: AbortSignal): Promise<void> {
      stop = signal
      fault = null
      const onStop = () => wake()
      stop.addEventListener('abort', onStop)
      try {
        while (!stop.aborted && fault === null) {
          const woken = new Promise<void>((resolve) => {
            wake = resolve
          })
          const taken = await take()
          await pause(look_gap_ms)
          if (taken > 0) continue
          const timer = setTimeout(() => wake(), look_pause_ms)
          await woken
          clearTimeout(timer)
        }
        if (fault !== null) throw (fault as { err: unknown }).err
      } finally {
        stop.removeEventListener('abort', onStop)
        if (stop.aborted) await Promise.allSettled(at_work)
      }
    },
    async close(): Promise<void> {
      ahead.clear()
      await Promise.allSettled(at_work)
      await tries.settle(settle_ms)
      await agent.destroy()
    },
  }
}

interface TryDeps extends DeliverDeps {
  agent: ReturnType<typeof postbackAgent>
  pace: Pace
  tries: ReturnType<typeof endedTries>
  secretOf: ReturnType<typeof partnerSecrets>
}

/** Makes a postback due at once again, without a line in the log of tries. */
const untried = (one: TakenPostback) =>
  ({ ended: { ...keyOf(one), state: 'due', pause_ms: 0, reason: null }, logged: null }) as const

const isTest = ({ event_key }: TakenPostback) => event_key.startsWith('test/')

async function tryOnce(deps: TryDeps, taken: TakenPostback, stop: AbortSignal): Promise<void> {
  const { pace, tries, now, metrics, crash = () => {} } = deps
  const end = pace.begin(taken)
  const begun_ms = now()
  const begun = performance.now()
  let answer: Answer
  try {
    crash('taken')
    answer = await answerOf(deps, taken, stop)
    crash('answered')
  } catch (err) {
    end(null)
    // The process stops in the middle of the try: the next one takes it at once.
    if (stop.aborted) tries.add(untried(taken))
    else throw err
    return
  }
  const elapsed_ms = Math.round(performance.now() - begun)
  end({ ok: answer.reason === null || !isRepeated(answer), elapsed_ms, retry_after_ms: answer.retry_after_ms })
  const ended = endOf({ ...taken, left_ms: taken.left_ms - elapsed_ms }, answer, deps.random ?? Math.random)
  const { app_id, partner, install_uuid, event_name, idempotency_key, dated_at_ms, owed_at_ms } = taken
  tries.add({
    ended,
    logged: {
      ...{ app_id, partner, install_uuid, event_name, idempotency_key, dated_at_ms },
      ...{ try: taken.tries, tried_at_ms: begun_ms },
      ...{ outcome: ended.state === 'due' ? 'retry' : ended.state, status: answer.status, reason: ended.reason },
      ...{ elapsed_ms, answer: answer.text },
    },
  })
  metrics?.observe(ended, { owed_at_ms, elapsed_ms })
}

const keyOf = ({ app_id, install_uuid, event_key, partner, idempotency_key, tries }: TakenPostback): TryKey => ({
  ...{ app_id, install_uuid, event_key, partner, idempotency_key, tries },
})

/** The answer of the partner, or why there is none. Rejects when PostgreSQL is away: that is no failure of the partner. */
async function answerOf({ agent, secretOf, now }: TryDeps, taken: TakenPostback, stop: AbortSignal): Promise<Answer> {
  const { settings, settings_id, content, idempotency_key } = taken
  if (settings === null) return unanswered('partner_removed')
  if (taken.left_ms <= 0) return unanswered('gave_up')
  let secret: string | null
  try {
    secret = await secretOf(settings_id)
  } catch (err) {
    if (!isSecretUnreadable(err)) throw err
    // An unsigned postback would be taken for a forged one.
    return unanswered('secret_unreadable')
  }
  return sendPostback(agent, { settings, secret, content, idempotency_key, test: isTest(taken) }, now(), stop)
}

/** The state of a postback after a try (docs/rules.md#failures-of-postbacks). */
function endOf(taken: TakenPostback, answer: Answer, random: () => number): EndedTry {
  const { reason, retry_after_ms } = answer
  const key = keyOf(taken)
  if (reason === null) return { ...key, state: 'delivered', pause_ms: 0, reason: null }
  const dead = { ...key, state: 'dead' as const, pause_ms: 0, reason }
  if (isTest(taken) || reason === 'gave_up' || !isRepeated(answer)) return dead
  const longest_ms = Math.min(limits.partner_retry_ms * 2 ** Math.min(taken.tries - 1, 20), limits.partner_retry_ms_max)
  const pause_ms = Math.ceil(Math.max(random() * longest_ms, retry_after_ms ?? 0))
  return pause_ms >= taken.left_ms ? dead : { ...key, state: 'due', pause_ms, reason }
}
