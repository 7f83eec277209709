import { type ChangeChannel, listenForChanges } from '@tributary/postgres/change-listener'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { batchedLoad } from './batched-load.ts'
import { type CachedLookup, cachedLookup, type LookupOptions } from './cached-lookup.ts'

export interface KeptLookupsOptions {
  pool: Pool
  /** Clock of ages alone: `elapsed` of `Service`. */
  now: () => number
  logger: Logger
  registry?: Registry
}

/** What the look-ups of one kind are called in the log and in the metrics, and the changes that concern them. */
interface Kind {
  name:
    | 'credentials'
    | 'links'
    | 'attribution_apps'
    | 'apps_with_secrets'
    | 'cv_schemas'
    | 'live_schemas'
    | 'store_apps'
    | 'notified_apps'
  channels: readonly ChangeChannel[]
}

type Query<Row> = (keys: readonly string[]) => Promise<Map<string, Row>>

/** Look-ups in PostgreSQL that are kept in memory (see `cachedLookup`), and the listener that tells them of changes. */
export function openKeptLookups({ name, channels }: Kind, { pool, now, logger, registry }: KeptLookupsOptions) {
  const count = countLoads(name, registry)
  const caches: CachedLookup<unknown>[] = []
  const onChange = (company_id: string | undefined) => {
    for (const cache of caches) cache.invalidate(company_id)
  }
  const listener = listenForChanges({ pool, logger, channels, onChange })
  return {
    /** Keeps what `query` answers for keys, many of them at once. */
    keep<Row, Value extends { company_id: string }>(
      query: Query<Row>,
      toValue: LookupOptions<Row, Value>['toValue'],
    ): Pick<CachedLookup<Value>, 'find' | 'recall'> {
      const cache = cachedLookup<Row, Value>({
        load: batchedLoad(async (keys) => {
          count('query')
          return query(keys)
        }),
        toValue,
        now,
        onFailure(error) {
          count('failure')
          logger.error({ err: error, lookup: name }, 'a look-up in PostgreSQL failed')
        },
        onStaleAnswer: () => count('stale_answer'),
      })
      caches.push(cache)
      return cache
    },
    close: () => listener.close(),
  }
}

function countLoads(
  name: Kind['name'],
  registry: Registry | undefined,
): (result: 'query' | 'failure' | 'stale_answer') => void {
  if (registry === undefined) return () => {}
  const counter = new Counter({
    name: `tributary_${name}_loads_total`,
    help: `Queries of ${name} to PostgreSQL, failed ones, and stale answers given meanwhile`,
    labelNames: ['result'],
    registers: [registry],
  })
  return (result) => counter.inc({ result })
}
