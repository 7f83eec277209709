/** The results of `work` in the order of the items, up to `at_once` of them under way; none is when it ends or fails. */
export async function* readAhead<Item, Result>(
  items: AsyncIterable<Item> | Iterable<Item>,
  at_once: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const under_way: Promise<Result>[] = []
  try {
    for await (const item of items) {
      const result = work(item)
      result.catch(() => {}) // the `await` below rejects with it
      under_way.push(result)
      if (under_way.length >= at_once) yield await under_way.shift()!
    }
    while (under_way.length > 0) yield await under_way.shift()!
  } finally {
    await Promise.allSettled(under_way)
  }
}
