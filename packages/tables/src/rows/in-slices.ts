/** Neighbours together, as many as have no more than `max` between them; a larger one is alone. */
export function inSlices<Item>(items: readonly Item[], sizeOf: (item: Item) => number, max: number): Item[][] {
  const slices: Item[][] = []
  let size = 0
  for (const item of items) {
    const last = slices.at(-1)
    size += sizeOf(item)
    if (last !== undefined && size <= max) last.push(item)
    else {
      slices.push([item])
      size = sizeOf(item)
    }
  }
  return slices
}
