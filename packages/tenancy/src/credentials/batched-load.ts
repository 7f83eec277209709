import { Semaphore } from 'async-mutex'
import DataLoader from 'dataloader'

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
  const slots = new Semaphore(queries_at_once_max)
  const waiting = new Map<string, Promise<Row | null>>()

  async function runQuery(keys: readonly string[]): Promise<(Row | null)[]> {
    for (const key of keys) waiting.delete(key)
    try {
      const rows = await query(keys)
      return keys.map((key) => rows.get(key) ?? null)
    } finally {
      slots.release()
    }
  }

  const loader = new DataLoader(runQuery, {
    cache: false, // whoever comes after a query began gets a later one
    maxBatchSize: keys_per_query_max,
    batchScheduleFn: (run) => void slots.acquire().then(run),
  })

  return (key) => {
    const joined = waiting.get(key)
    if (joined !== undefined) return joined
    if (waiting.size >= waiting_keys_max) return Promise.reject(new Error('too many keys wait to be looked up'))
    const answer = loader.load(key)
    waiting.set(key, answer)
    return answer
  }
}
