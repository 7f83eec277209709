import { isBelow, type LogEnd } from '@tributary/domain/erasure/tombstones'

/** What the tombstones of a hash say together: the greatest mark, and the greatest end of a log, null without any. */
export interface Found {
  mark_ms: number
  log_end: LogEnd | null
}

/** Tombstones in memory by their hash. Entries come in the order of their numbers. */
export interface TombstoneTable {
  add(hash: Buffer, number: number, mark_ms: number, log_end: LogEnd | null): void
  /** What those of a hash up to a number say; null without any. */
  find(hash: Buffer, number: number): Found | null
}

const first_slots = 1024
const words_of_hash = 4

/**
 * A hash table with open addressing, since a process keeps all tombstones: a slot takes 36 bytes, and at least a third of
 * the slots are free. The hashes are keyed, so nobody can choose where they fall.
 */
export function createTombstoneTable(): TombstoneTable {
  let slots = allot(first_slots)
  let used = 0
  /** Tombstones that were written together share those of their partitions. */
  const ends: (LogEnd | null)[] = [null]
  const indexes = new Map([['', 0]])

  function indexOf(log_end: LogEnd | null): number {
    const name = log_end === null ? '' : `${log_end.source}/${log_end.offset}`
    const index = indexes.get(name) ?? ends.push(log_end) - 1
    indexes.set(name, index)
    return index
  }

  return {
    add(hash, number, mark_ms, log_end) {
      if ((used + 1) * 3 > slots.numbers.length * 2) slots = enlarge(slots)
      put(slots, wordsOf(hash), { number, mark_ms, end: indexOf(log_end) })
      used += 1
    },
    find(hash, number) {
      const words = wordsOf(hash)
      let found: Found | null = null
      for (let at = firstSlot(slots, words); slots.numbers[at] !== 0; at = nextSlot(slots, at)) {
        if (slots.numbers[at]! > number || !hasWords(slots, at, words)) continue
        found ??= { mark_ms: 0, log_end: null }
        found.mark_ms = Math.max(found.mark_ms, slots.marks[at]!)
        found.log_end = later(found.log_end, ends[slots.ends[at]!] ?? null)
      }
      return found
    },
  }
}

const later = (one: LogEnd | null, other: LogEnd | null): LogEnd | null =>
  one === null || (other !== null && isBelow({ topic: one.source, offset: one.offset }, other)) ? other : one

interface Slots {
  words: Uint32Array
  /** 0 is a free slot. */
  numbers: Float64Array
  marks: Float64Array
  ends: Uint32Array
}

const allot = (count: number): Slots => ({
  words: new Uint32Array(count * words_of_hash),
  numbers: new Float64Array(count),
  marks: new Float64Array(count),
  ends: new Uint32Array(count),
})

type Words = readonly [number, number, number, number]

const wordsOf = (hash: Buffer): Words => [
  hash.readUInt32LE(0),
  hash.readUInt32LE(4),
  hash.readUInt32LE(8),
  hash.readUInt32LE(12),
]

/** The number of slots is a power of 2. */
const firstSlot = ({ numbers }: Slots, words: Words): number => words[0] & (numbers.length - 1)
const nextSlot = ({ numbers }: Slots, at: number): number => (at + 1) & (numbers.length - 1)

const hasWords = ({ words }: Slots, at: number, of: Words): boolean =>
  of.every((word, n) => words[at * words_of_hash + n] === word)

interface Entry {
  number: number
  mark_ms: number
  /** Index among the ends of logs. */
  end: number
}

function put(slots: Slots, words: Words, { number, mark_ms, end }: Entry): void {
  let at = firstSlot(slots, words)
  while (slots.numbers[at] !== 0) at = nextSlot(slots, at)
  slots.words.set(words, at * words_of_hash)
  slots.numbers[at] = number
  slots.marks[at] = mark_ms
  slots.ends[at] = end
}

function enlarge(slots: Slots): Slots {
  const larger = allot(slots.numbers.length * 2)
  slots.numbers.forEach((number, at) => {
    if (number === 0) return
    const [a, b, c, d] = slots.words.subarray(at * words_of_hash, (at + 1) * words_of_hash)
    put(larger, [a!, b!, c!, d!], { number, mark_ms: slots.marks[at]!, end: slots.ends[at]! })
  })
  return larger
}
