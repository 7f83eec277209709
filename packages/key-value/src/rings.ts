import type { KeyValue, RingTexts } from './key-value.ts'

/**
 * UTF-16 characters of all texts of a kind, which is what a key has before its first colon. Beyond, the owner that holds most of the
 * kind loses the ring that it appended to longest ago. An owner is what a key has up to its second colon: an app.
 */
const chars_of_kind_max = 8 * 1024 * 1024

interface RingText {
  position: number
  text: string
  expires_at_ms: number
  ttl_ms: number
}
interface Ring {
  owner: Owner
  /** Position of the last text. */
  last: number
  texts: RingText[]
  timer: NodeJS.Timeout | null
}

interface Owner {
  name: string
  kind: Kind
  chars: number
  /** Its rings; the last one is that which was appended to last. */
  rings: Set<string>
}
interface Kind {
  chars: number
  owners: Set<Owner>
}

export interface Rings extends Pick<KeyValue, 'append' | 'read'> {
  close(): void
}

/** The rings of a process, in memory alone. A timer deletes what expires. */
export function openRings(now: () => number): Rings {
  const rings = new Map<string, Ring>()
  const kinds = new Map<string, Kind>()
  const owners = new Map<string, Owner>()

  function ownerOf(key: string): Owner {
    const [kind_name = '', app_id = ''] = key.split(':')
    const name = `${kind_name}:${app_id}`
    const known = owners.get(name)
    if (known !== undefined) return known
    const kind = kinds.get(kind_name) ?? { chars: 0, owners: new Set() }
    const owner = { name, kind, chars: 0, rings: new Set<string>() }
    kinds.set(kind_name, kind)
    owners.set(name, owner)
    kind.owners.add(owner)
    return owner
  }
  function keep(ring: Ring, texts: RingText[]): void {
    const sum = (all: RingText[]) => all.reduce((chars, { text }) => chars + text.length, 0)
    const more = sum(texts) - sum(ring.texts)
    ring.owner.chars += more
    ring.owner.kind.chars += more
    ring.texts = texts
  }
  function remove(key: string, ring: Ring): void {
    const { owner } = ring
    if (ring.timer !== null) clearTimeout(ring.timer)
    keep(ring, [])
    rings.delete(key)
    owner.rings.delete(key)
    if (owner.rings.size > 0) return
    owner.kind.owners.delete(owner)
    owners.delete(owner.name)
  }
  function removeMost({ owners: all }: Kind): void {
    const [first, ...others] = all
    const most = others.reduce((found, one) => (one.chars > found.chars ? one : found), first!)
    const [oldest] = most.rings
    remove(oldest!, rings.get(oldest!)!)
  }
  /** A clock that went back keeps nothing longer than its time. */
  function isAlive(one: RingText): boolean {
    one.expires_at_ms = Math.min(one.expires_at_ms, now() + one.ttl_ms)
    return one.expires_at_ms > now()
  }
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
      const ring = rings.get(key) ?? { owner: ownerOf(key), last: 0, texts: [], timer: null }
      rings.set(key, ring)
      const { owner } = ring
      owner.rings.delete(key)
      owner.rings.add(key)
      ring.last += 1
      keep(ring, [...ring.texts, { position: ring.last, text, expires_at_ms: now() + ttl_ms, ttl_ms }].slice(-max))
      ring.timer ??= setTimeout(() => expire(key, ring), ttl_ms).unref()
      while (owner.kind.chars > chars_of_kind_max) removeMost(owner.kind)
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
