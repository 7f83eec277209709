import { erasures_begun_key, queuedErasureKey } from '@tributary/contracts/erasure'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { AskedErasure } from '@tributary/domain/erasure/audited-request'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'

export interface QueuedErasuresDeps {
  keyValue: Pick<KeyValue, 'get' | 'reconcile' | 'hitWindow' | 'remove'>
  /** All processes that count in the same store share it. */
  breaker: CountersBreaker
}

type AskedInstall = Pick<AskedErasure, 'app_id' | 'install_uuid' | 'requested_at_ms'>

/** The facts that decide the budget of a request. They are not stored. */
interface Asker {
  /** The block of the client's address. */
  address: string
  /** Whether the gateway took events of the install lately. */
  is_known: boolean
}

export interface QueuedErasures {
  /**
   * Queues the erasure of an install by `store`, which resolves once the request is durable; stores nothing while one
   * for the same install is queued. Throws `rate_limited` for new requests of an app beyond its budgets, and what
   * `store` throws.
   */
  queueOnce(asked: AskedInstall, asker: Asker, store: () => Promise<void>): Promise<void>
}

/** A request in flight. */
interface Running {
  /** Whether it is being stored: an erasure may cover it from then on. */
  is_storing: boolean
  /** `at_ms`: the time of its own request when that was stored, else the time in the mark. */
  queued: Promise<{ at_ms: number; stored: boolean }>
}

/**
 * Which installs are queued for erasure, over all gateways. A mark is the time of a request that is durable. It counts
 * only while no erasure has begun at that time or later: otherwise a mark that is set after its request was carried out
 * would keep a later request away (docs/decisions/erasure.md#a-flag-says-that-an-erasure-is-queued). While the counters
 * are away every request is stored: a missing mark costs an object, a wrong one would lose a request.
 */
export function createQueuedErasures({ keyValue, breaker }: QueuedErasuresDeps): QueuedErasures {
  const running = new Map<string, Running>()

  /**
   * Whether a request is certainly queued: no begun erasure covers it. A request later than `now_ms` comes from a clock
   * that was ahead. It does not count as queued, because the erasure that covers it may have ended.
   */
  async function isQueued(requested_at_ms: number, now_ms: number): Promise<boolean> {
    if (requested_at_ms > now_ms) return false
    const begun = await breaker(async () => (await keyValue.get(erasures_begun_key)) ?? 0)
    return begun !== null && requested_at_ms > begun
  }

  /**
   * Uses up one new request of the app. Beyond `erasures_max`, addresses that have sent few requests have two more
   * budgets. So a sender of many requests, or of requests for made-up installs, leaves room for others
   * (docs/rules.md#taking-a-request).
   */
  async function spendRate(app_id: string, { address, is_known }: Asker): Promise<void> {
    const { erasures_max, erasures_of_known_max, erasures_of_unknown_max, erasures_of_address_few } = limits
    const hit = (what: string, max: number) =>
      breaker(() => keyValue.hitWindow(`erasures${what}:${app_id}`, max, limits.erasures_window_ms))
    const all = await hit('', erasures_max)
    if (all === null) return
    const own = await hit(`-of:${address}`, all.allowed ? erasures_max : erasures_of_address_few)
    if (all.allowed || own === null) return
    if (!own.allowed) throw rateLimited(Math.max(all.retry_after_ms, own.retry_after_ms))
    const more = await (is_known
      ? hit('-of-known', erasures_of_known_max)
      : hit('-of-unknown', erasures_of_unknown_max))
    if (more?.allowed === false) throw rateLimited(Math.min(all.retry_after_ms, more.retry_after_ms))
  }

  async function queue(
    { app_id, install_uuid, requested_at_ms }: AskedInstall,
    asker: Asker,
    store: () => Promise<void>,
  ) {
    const mark = queuedErasureKey(app_id, install_uuid)
    // 9. a mark means that an earlier request is durable, and will be erased after this moment
    const marked_ms = await breaker(() => keyValue.get(mark, limits.erasure_mark_kept_ms))
    if (marked_ms !== null && (await isQueued(marked_ms, requested_at_ms))) return { at_ms: marked_ms, stored: false }
    // 10. the rate of new requests
    await spendRate(app_id, asker)
    // 11. the request is durable; a crash before 12 leaves a request without a mark, and one sent again is stored again
    await store()
    // 12. the mark replaces one of a clock that was ahead: reconciling only raises it
    if (await isQueued(requested_at_ms, requested_at_ms))
      await breaker(async () => {
        if (marked_ms !== null && marked_ms > requested_at_ms) await keyValue.remove(mark)
        await keyValue.reconcile(mark, requested_at_ms, null, limits.erasure_mark_kept_ms)
      })
    return { at_ms: requested_at_ms, stored: true }
  }

  return {
    async queueOnce(asked, asker, store) {
      const key = queuedErasureKey(asked.app_id, asked.install_uuid)
      // The first request covers one that comes before the first is being stored. It covers a later one only while no
      // erasure has begun.
      for (let first = running.get(key); first !== undefined; first = running.get(key)) {
        const is_early = !first.is_storing
        const { at_ms, stored } = await first.queued
        if ((is_early && stored) || (await isQueued(at_ms, asked.requested_at_ms))) return
      }
      const storing = () => {
        own.is_storing = true
        return store()
      }
      const queued = queue(asked, asker, storing).finally(() => running.delete(key))
      const own: Running = { is_storing: false, queued }
      running.set(key, own)
      await queued
    },
  }
}
