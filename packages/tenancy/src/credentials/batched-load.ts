const keys_per_query_max = 500
const queries_at_once_max = 2
const waiting_keys_max = 20_000

/**
 * Gathers single look-ups into queries of many keys. While the few allowed queries run, further keys wait and go together:
 * a flood of keys, hostile or after a restart, costs PostgreSQL a bounded number of small queries.
 */
export function batchedLoad<Row>(
  query: (keys: readonly string[]) => Promise<Map<string, Row>>,
): (key: string) => Promise<Row | null> {
  const waiting = new Map<string, PromiseWithResolvers<Row | null>[]>()
  let running = 0

  async function drain(): Promise<void> {
    running += 1
    while (waiting.size > 0) {
      const batch = [...waiting.entries().take(keys_per_query_max)]
      for (const [key] of batch) waiting.delete(key)
      try {
        const rows = await query(batch.map(([key]) => key))
        for (const [key, callers] of batch) for (const caller of callers) caller.resolve(rows.get(key) ?? null)
      } catch (error) {
        for (const [, callers] of batch) for (const caller of callers) caller.reject(error)
      }
    }
    running -= 1
  }

  return (key) => {
    const caller = Promise.withResolvers<Row | null>()
    const callers = waiting.get(key)
    if (callers !== undefined) {
      callers.push(caller)
    } else {
      if (waiting.size >= waiting_keys_max) return Promise.reject(new Error('too many keys wait to be looked up'))
      waiting.set(key, [caller])
      // In a microtask, so that keys that come in the same turn of the event loop go together.
      if (running < queries_at_once_max) queueMicrotask(() => running < queries_at_once_max && void drain())
    }
    return caller.promise
  }
}
