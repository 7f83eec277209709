/** The blocks of a part: the numbers count the inserts of its table, so those of a partition have gaps. */
export interface PartRange {
  partition: string
  first: number
  last: number
}

/** `<partition>_<first block>_<last block>_<level>[_<mutation>]`; null for what is no finished part. */
export function partRange(name: string): PartRange | null {
  const [, partition, first, last] = /^([^_]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name) ?? []
  return partition === undefined ? null : { partition, first: Number(first), last: Number(last) }
}

/** The name of a part that the engine put aside: `broken-on-start_all_2_2_0_try1` was `all_2_2_0`. */
export const brokenName = (folder: string): string => folder.replace(/^broken[^_]*_/, '').replace(/_try\d+$/, '')

/** Whether every block of the range is in one of the parts. */
export function isCovered(range: PartRange, parts: readonly PartRange[]): boolean {
  let next = range.first
  for (const { first, last } of parts
    .filter(({ partition }) => partition === range.partition)
    .toSorted((a, b) => a.first - b.first)) {
    if (first <= next) next = Math.max(next, last + 1)
  }
  return next > range.last
}
