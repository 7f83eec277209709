import type { KeyValue, RingTexts } from './key-value.ts'

/** UTF-16 characters of all texts. Beyond, the ring that was appended to longest ago goes. */
const rings_chars_max = 16 * 1024 * 1024

interface RingText {
  position: number
  text: string
  expires_at_ms: number
  ttl_ms: number
}
interface Ring {
  /** Position of the last text. */
  last: number
  texts: RingText[]
  timer: NodeJS.Timeout | null
}

export interface Rings extends Pick<KeyValue, 'append' | 'read'> {
  close(): void
}

/** The rings of a process, in memory alone. A timer deletes what expires. */
export function openRings(now: () => number): Rings {
  const rings = new Map<string, Ring>()
  let chars = 0

  function keep(ring: Ring, texts: RingText[]): void {
    for (const { text } of ring.texts) chars -= text.length
    for (const { text } of texts) chars += text.length
    ring.texts = texts
  }
  function remove(key: string, ring: Ring): void {
    if (ring.timer !== null) clearTimeout(ring.timer)
    keep(ring, [])
    rings.delete(key)
  }
  /** A clock that goes back keeps nothing longer than its time. */
  const isAlive = ({ expires_at_ms, ttl_ms }: RingText) => expires_at_ms > now() && expires_at_ms <= now() + ttl_ms
  /** Deletes what has expired, and comes again when more will. */
  function expire(key: string, ring: Ring): void {
    keep(ring, ring.texts.filter(isAlive))
    if (ring.texts.length === 0) {
      remove(key, ring)
      return
    }
    const next_ms = Math.min(...ring.texts.map(({ expires_at_ms }) => expires_at_ms)) - now()
    ring.timer = setTimeout(() => expire(key, ring), Math.max(1, next_ms)).unref()
  }

  return {
    async append(key, text, max, ttl_ms) {
      const ring = rings.get(key) ?? { last: 0, texts: [], timer: null }
      rings.delete(key) // the newest is the last one of the map
      rings.set(key, ring)
      ring.last += 1
      keep(ring, [...ring.texts, { position: ring.last, text, expires_at_ms: now() + ttl_ms, ttl_ms }].slice(-max))
      ring.timer ??= setTimeout(() => expire(key, ring), ttl_ms).unref()
      for (const [oldest, other] of rings) {
        if (chars <= rings_chars_max) break
        remove(oldest, other)
      }
    },
    async read(key, after, limit): Promise<RingTexts> {
      const { last, texts } = rings.get(key) ?? { last: 0, texts: [] }
      const from = Math.max(after > last ? 0 : after, last - limit)
      const found = texts.filter((one) => one.position > from && isAlive(one))
      return { texts: found.map(({ text }) => text), position: last }
    },
    close() {
      for (const [key, ring] of rings) remove(key, ring)
    },
  }
}
