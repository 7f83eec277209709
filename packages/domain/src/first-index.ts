/**
 * Index of the first item for which `isBehind` holds, or the number of items if it holds for none. The items are sorted
 * so that it holds for all items after that one.
 */
export function firstIndex<T>(ordered: readonly T[], isBehind: (item: T) => boolean): number {
  let [low, high] = [0, ordered.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBehind(ordered[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}
