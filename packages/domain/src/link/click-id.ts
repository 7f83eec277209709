import { randomUUID } from 'node:crypto'

export interface MintedClick {
  /** A UUIDv7 (RFC 9562), greater than the one before unless the clock went back by more than `clock_back_ms_max`. */
  click_id: string
  /** The time inside the id, Unix epoch ms. It is ahead of the clock by `clock_back_ms_max` at most. */
  clicked_at_ms: number
}

const counter_max = 0xfff
/** A millisecond begins with a random counter below this, so that ids of two processes differ early. */
const counter_start_max = 0x800

/**
 * While the clock is behind the last time by at most this, times go on from that time. Otherwise they begin again at
 * the clock.
 */
const clock_back_ms_max = 5_000

/** Makes the function that mints ids of clicks: a counter in the 12 bits after the time keeps their order. */
export function createClickIds(now: () => number): () => MintedClick {
  let clicked_at_ms = 0
  let counter = 0
  return () => {
    const random = randomUUID() // Node keeps random bits for many of them ready
    const now_ms = now()
    const went_back = clicked_at_ms - now_ms > clock_back_ms_max
    if (now_ms > clicked_at_ms || went_back || counter === counter_max) {
      clicked_at_ms = went_back ? now_ms : Math.max(now_ms, clicked_at_ms + 1)
      counter = Number.parseInt(random.slice(0, 3), 16) % counter_start_max
    } else {
      counter += 1
    }
    const time = clicked_at_ms.toString(16).padStart(12, '0')
    const count = counter.toString(16).padStart(3, '0')
    return { click_id: `${time.slice(0, 8)}-${time.slice(8)}-7${count}${random.slice(18)}`, clicked_at_ms }
  }
}
