/**
 * Index of the first item for which `isBehind` holds, and the number of items where it holds for none. The items are in an order
 * in which it holds for all behind the first.
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
