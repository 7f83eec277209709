import { queuedErasureKey } from '@tributary/contracts/erasure'
import { rateLimited } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'

export interface QueuedErasuresDeps {
  keyValue: Pick<KeyValue, 'addCapped' | 'get' | 'hitWindow'>
  /** Shared by all that count in the same store. */
  breaker: CountersBreaker
}

export interface QueuedErasures {
  /**
   * Queues the erasure of an install by `store`, which resolves once the request is durable; stores nothing while one
   * for the same install is queued. Throws `rate_limited` for more new ones of an app than `erasures_max`, and what
   * `store` throws.
   */
  queueOnce(app_id: string, install_uuid: string, store: () => Promise<void>): Promise<void>
}

/**
 * Which installs are queued for erasure, over all gateways. While the counters are away every request is stored: a
 * missing mark costs an object, a wrong one would lose a request.
 */
export function createQueuedErasures({ keyValue, breaker }: QueuedErasuresDeps): QueuedErasures {
  const storing = new Map<string, Promise<void>>()

  async function spendRate(app_id: string): Promise<void> {
    const { erasures_max, erasures_window_ms } = limits
    const hit = await breaker(() => keyValue.hitWindow(`erasures:${app_id}`, erasures_max, erasures_window_ms))
    if (hit === null || hit.allowed) return
    throw rateLimited(hit.retry_after_ms)
  }

  async function queue(app_id: string, mark: string, store: () => Promise<void>): Promise<void> {
    // 9. a mark means that an earlier request is durable
    if (await breaker(() => keyValue.get(mark))) return
    // 10. the rate of new requests
    await spendRate(app_id)
    // 11. the request is durable; a crash before 12 leaves a request without a mark, and one sent again is stored again
    await store()
    // 12. the mark
    await breaker(() => keyValue.addCapped(mark, 1, 1, limits.erasure_mark_kept_ms))
  }

  return {
    queueOnce(app_id, install_uuid, store) {
      const mark = queuedErasureKey(app_id, install_uuid)
      const running = storing.get(mark)
      // Requests that come at the same time end as the first one does.
      if (running !== undefined) return running
      const queued = queue(app_id, mark, store).finally(() => storing.delete(mark))
      storing.set(mark, queued)
      return queued
    },
  }
}
