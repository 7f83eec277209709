/** Tombstones in memory by their hash. Entries come in the order of their numbers. */
export interface TombstoneTable {
  add(hash: Buffer, number: number, mark_ms: number): void
  /** The greatest mark of a hash among the tombstones up to a number; null without any. */
  find(hash: Buffer, number: number): number | null
}

const first_slots = 1024
const words_of_hash = 4

/**
 * A hash table with open addressing, since a process keeps all tombstones: a slot takes 32 bytes, and at least a third of
 * the slots are free. The hashes are keyed, so nobody can choose where they fall.
 */
export function createTombstoneTable(): TombstoneTable {
  let slots = allot(first_slots)
  let used = 0

  return {
    add(hash, number, mark_ms) {
      if ((used + 1) * 3 > slots.numbers.length * 2) slots = enlarge(slots)
      put(slots, wordsOf(hash), number, mark_ms)
      used += 1
    },
    find(hash, number) {
      const words = wordsOf(hash)
      let found: number | null = null
      for (let at = firstSlot(slots, words); slots.numbers[at] !== 0; at = nextSlot(slots, at)) {
        if (slots.numbers[at]! > number || !hasWords(slots, at, words)) continue
        found = Math.max(found ?? 0, slots.marks[at]!)
      }
      return found
    },
  }
}

interface Slots {
  words: Uint32Array
  /** 0 is a free slot. */
  numbers: Float64Array
  marks: Float64Array
}

const allot = (count: number): Slots => ({
  words: new Uint32Array(count * words_of_hash),
  numbers: new Float64Array(count),
  marks: new Float64Array(count),
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

function put(slots: Slots, words: Words, number: number, mark_ms: number): void {
  let at = firstSlot(slots, words)
  while (slots.numbers[at] !== 0) at = nextSlot(slots, at)
  slots.words.set(words, at * words_of_hash)
  slots.numbers[at] = number
  slots.marks[at] = mark_ms
}

function enlarge(slots: Slots): Slots {
  const larger = allot(slots.numbers.length * 2)
  slots.numbers.forEach((number, at) => {
    if (number === 0) return
    const [a, b, c, d] = slots.words.subarray(at * words_of_hash, (at + 1) * words_of_hash)
    put(larger, [a!, b!, c!, d!], number, slots.marks[at]!)
  })
  return larger
}
