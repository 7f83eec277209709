import { setTimeout as wait } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import type { CountersBreaker } from '@tributary/tenancy/quota/counters-breaker'
import type { PostbackGatewayDeps } from './deps.ts'

/** Whether bytes were stored now, or in the last `limits.postback_remembered_ms`. */
export type Stored = 'stored' | 'repeated'

/**
 * Makes the function that stores bytes unless the same ones were stored in the last 10 minutes, by any gateway:
 * 1. One request claims the bytes; others with the same ones wait for it. A crash after this leaves a claim that ends by
 *    itself.
 * 2. `store` makes them durable. If it fails, the claim is given back. A crash after this leaves bytes that are stored but
 *    not remembered: sent again, they are stored twice, and the writer counts them once.
 * 3. They are remembered.
 *
 * It stores without all this while the counters are away, and beyond `limits.postbacks_remembered_max`: what strangers send
 * must not fill the memory that quotas and rates stand in (docs/decisions/postbacks.md#the-same-bytes-are-stored-once). `pause` is for
 * tests.
 */
export function createStoreOnce(
  { keyValue, now }: Pick<PostbackGatewayDeps, 'keyValue' | 'now'>,
  counters: CountersBreaker,
  pause: (ms: number) => Promise<unknown> = wait,
) {
  const room = createRoom(now)

  const giveBack = (digest: string) => counters(() => keyValue.remove(`postback-claim:${digest}`))

  /** True when the bytes are ours to store, false when they are stored, null when nobody can tell. */
  async function claim(digest: string): Promise<boolean | null> {
    const until_ms = limits.postback_claim_ms_max
    let pause_ms: number = limits.postback_claim_poll_ms
    for (let waited_ms = 0; ; ) {
      const found = await counters(async () => {
        const claimed = await keyValue.addCapped(`postback-claim:${digest}`, 1, 1, limits.postback_claim_ms_max)
        // The look comes after the claim, so that no request is between the two.
        return {
          claimed: claimed.added,
          stored: await keyValue.get(`postback:${digest}`, limits.postback_remembered_ms),
        }
      })
      if (found === null) return null
      const stored = found.stored !== null && found.stored > 0
      if (stored && found.claimed) await giveBack(digest)
      if (stored || found.claimed) return !stored
      if (waited_ms >= until_ms) return null
      await pause(pause_ms)
      waited_ms += pause_ms
      pause_ms = Math.min(pause_ms * 2, limits.postback_claim_poll_ms_max, until_ms - waited_ms)
    }
  }

  return async (digest: string, store: () => Promise<unknown>): Promise<Stored> => {
    const claimed = room.left() ? await claim(digest) : null // 1.
    if (claimed === false) return 'repeated'
    try {
      await store() // 2.
    } catch (error) {
      if (claimed) await giveBack(digest)
      throw error
    }
    if (claimed === null) return 'stored'
    room.take()
    await counters(() => keyValue.addCapped(`postback:${digest}`, 1, null, limits.postback_remembered_ms)) // 3.
    void giveBack(digest) // nobody waits for it: it would end by itself
    return 'stored'
  }
}

/** The digests that this process may still remember, in each span of `limits.postback_remembered_ms`. */
function createRoom(now: () => number) {
  let taken = 0
  let ends_at_ms = 0
  return {
    left() {
      const left_ms = ends_at_ms - now()
      // More than a span is left after a clock that was ahead.
      if (left_ms <= 0 || left_ms > limits.postback_remembered_ms) {
        taken = 0
        ends_at_ms = now() + limits.postback_remembered_ms
      }
      return taken < limits.postbacks_remembered_max
    },
    take() {
      taken += 1
    },
  }
}
