import type { Family } from './address.ts'

/** A range of addresses with what is known of it; `first` and `last` belong to it. */
export interface Range {
  first: bigint
  last: bigint
  /** 1 to 65535. */
  value: number
}

/**
 * Values of ranges of addresses, as two arrays: from each start on its value holds, until the next start; 0 is none. A
 * look-up is a binary search. A range takes 6 bytes for IPv4 and 10 for IPv6.
 */
export interface RangeTable {
  starts: Uint32Array | BigUint64Array
  values: Uint16Array
}

/** The value of an address (see `NumberedAddress`); 0 where no range has it. */
export function valueAt({ starts, values }: RangeTable, number: number | bigint): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (starts[middle]! <= number) low = middle + 1
    else high = middle
  }
  return low === 0 ? 0 : values[low - 1]!
}

/** Makes the table of ranges in any order. Where two overlap, the addresses of both stay with the one that starts first. */
export function toTable(family: Family, ranges: readonly Range[]): RangeTable {
  const starts: bigint[] = []
  const values: number[] = []
  const from = (start: bigint, value: number) => {
    if ((values.at(-1) ?? 0) === value) return
    starts.push(start)
    values.push(value)
  }
  let next = 0n
  for (const { first, last, value } of ranges.toSorted((a, b) => compare(a.first, b.first))) {
    if (last < next) continue
    if (first > next) from(next, 0)
    from(first > next ? first : next, value)
    next = last + 1n
  }
  const above = family === 4 ? 2n ** 32n : 2n ** 64n
  if (next < above) from(next, 0)
  return {
    starts: family === 4 ? Uint32Array.from(starts, Number) : BigUint64Array.from(starts),
    values: Uint16Array.from(values),
  }
}

/** How many addresses (of IPv6: /64 networks) have a value. */
export function coverage({ starts, values }: RangeTable): number {
  let covered = 0
  for (let at = 0; at < starts.length; at += 1) {
    if (values[at] !== 0) covered += Number(starts[at + 1] ?? starts[at]!) - Number(starts[at]!)
  }
  return covered
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
