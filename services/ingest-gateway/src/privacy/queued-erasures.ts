import { erasures_begun_key, queuedErasureKey } from '@tributary/contracts/erasure'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { AskedErasure } from '@tributary/domain/erasure/audited-request'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'

export interface QueuedErasuresDeps {
  keyValue: Pick<KeyValue, 'get' | 'settle' | 'hitWindow'>
  /** Shared by all that count in the same store. */
  breaker: CountersBreaker
}

type AskedInstall = Pick<AskedErasure, 'app_id' | 'install_uuid' | 'requested_at_ms'>

export interface QueuedErasures {
  /**
   * Queues the erasure of an install by `store`, which resolves once the request is durable; stores nothing while one
   * for the same install is queued. Throws `rate_limited` for more new ones of an app than `erasures_max`, and what
   * `store` throws.
   */
  queueOnce(asked: AskedInstall, store: () => Promise<void>): Promise<void>
}

/** A request in hand. */
interface Running {
  /** It is being stored: an erasure may cover it from now on. */
  is_storing: boolean
  /** `at_ms`: the time of its own request when that was stored, else the time in the mark. */
  queued: Promise<{ at_ms: number; stored: boolean }>
}

/**
 * Which installs are queued for erasure, over all gateways. A mark is the time of a request that is durable. It counts only
 * while no erasure has begun at that time or later: one that is set late, when its request is erased already, would keep a
 * later request away (docs/adr/0197). While the counters are away every request is stored: a missing mark costs an object, a
 * wrong one would lose a request.
 */
export function createQueuedErasures({ keyValue, breaker }: QueuedErasuresDeps): QueuedErasures {
  const running = new Map<string, Running>()

  /** Whether a request is queued for certain: no erasure that has begun covers it. */
  async function isQueued(requested_at_ms: number): Promise<boolean> {
    const begun = await breaker(async () => (await keyValue.get(erasures_begun_key)) ?? 0)
    return begun !== null && requested_at_ms > begun
  }

  async function spendRate(app_id: string): Promise<void> {
    const { erasures_max, erasures_window_ms } = limits
    const hit = await breaker(() => keyValue.hitWindow(`erasures:${app_id}`, erasures_max, erasures_window_ms))
    if (hit === null || hit.allowed) return
    throw rateLimited(hit.retry_after_ms)
  }

  async function queue({ app_id, install_uuid, requested_at_ms }: AskedInstall, store: () => Promise<void>) {
    const mark = queuedErasureKey(app_id, install_uuid)
    // 9. a mark means that an earlier request is durable, and will be erased after this moment
    const marked_ms = await breaker(() => keyValue.get(mark))
    if (marked_ms !== null && (await isQueued(marked_ms))) return { at_ms: marked_ms, stored: false }
    // 10. the rate of new requests
    await spendRate(app_id)
    // 11. the request is durable; a crash before 12 leaves a request without a mark, and one sent again is stored again
    await store()
    // 12. the mark
    if (await isQueued(requested_at_ms))
      await breaker(() => keyValue.settle(mark, requested_at_ms, null, limits.erasure_mark_kept_ms))
    return { at_ms: requested_at_ms, stored: true }
  }

  return {
    async queueOnce(asked, store) {
      const key = queuedErasureKey(asked.app_id, asked.install_uuid)
      // A request that comes before the first one is being stored is covered by it; a later one only while no erasure has begun.
      for (let first = running.get(key); first !== undefined; first = running.get(key)) {
        const is_early = !first.is_storing
        const { at_ms, stored } = await first.queued
        if ((is_early && stored) || (await isQueued(at_ms))) return
      }
      const storing = () => {
        own.is_storing = true
        return store()
      }
      const queued = queue(asked, storing).finally(() => running.delete(key))
      const own: Running = { is_storing: false, queued }
      running.set(key, own)
      await queued
    },
  }
}
