import { randomBytes } from 'node:crypto'

export interface MintedClick {
  /** A UUIDv7 (RFC 9562), greater than every one minted before. */
  click_id: string
  /** The time inside the id, Unix epoch ms. It never goes back, and may be ahead of the clock by a moment. */
  clicked_at_ms: number
}

const counter_max = 0xfff
/** A millisecond begins with a random counter below this, so that ids of two processes differ early. */
const counter_start_max = 0x800

/** Makes the function that mints ids of clicks: a counter in the 12 bits after the time keeps their order. */
export function createClickIds(now: () => number): () => MintedClick {
  let clicked_at_ms = 0
  let counter = 0
  return () => {
    const random = randomBytes(10)
    const now_ms = now()
    if (now_ms > clicked_at_ms || counter === counter_max) {
      clicked_at_ms = Math.max(now_ms, clicked_at_ms + (counter === counter_max ? 1 : 0))
      counter = random.readUInt16BE(8) % counter_start_max
    } else {
      counter += 1
    }
    random[0] = 0x80 | (random[0]! & 0x3f)
    const time = clicked_at_ms.toString(16).padStart(12, '0')
    const tail = random.toString('hex', 0, 8)
    const click_id = `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${tail.slice(0, 4)}-${tail.slice(4)}`
    return { click_id, clicked_at_ms }
  }
}
