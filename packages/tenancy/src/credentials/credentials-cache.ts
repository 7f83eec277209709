import { hash } from 'node:crypto'
import { listenForChanges } from '@tributary/postgres/change-listener'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { batchedLoad } from './batched-load.ts'
import { cachedLookup, type LookupOptions } from './cached-lookup.ts'
import type { Credentials } from './credentials.ts'
import { credentialsQueries } from './credentials-queries.ts'

export interface CredentialsOptions {
  pool: Pool
  /** Only a service that checks signatures needs it: without it `findApp` rejects. */
  masterKeys?: MasterKeys
  now: () => number
  logger: Logger
  registry?: Registry
}

const appKeyShape = /^app_live_[0-9a-f]{32}$/
const companyKeyShape = /^co_live_[0-9a-f]{32}$/
const serverKeyShape = /^srv_[0-9a-f]{48}$/
const nobody = Promise.resolve(null)

/**
 * Credentials from memory over PostgreSQL (promises: see `Credentials`). It resolves at once, also with PostgreSQL away;
 * a key of a wrong shape is answered null without a query.
 */
export async function openCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { pool, masterKeys, now, logger, registry } = options
  const queries = credentialsQueries(pool, masterKeys)
  const count = countLoads(registry)

  const lookup = <Row, Value extends { company_id: string }>(
    query: (keys: readonly string[]) => Promise<Map<string, Row>>,
    toValue: LookupOptions<Row, Value>['toValue'],
  ) =>
    cachedLookup({
      load: batchedLoad(async (keys) => {
        count('query')
        return query(keys)
      }),
      toValue,
      now,
      onFailure(error) {
        count('failure')
        logger.error({ err: error }, 'credentials could not be read')
      },
      onStaleAnswer: () => count('stale_answer'),
    })

  const apps = lookup(queries.apps, queries.toApp)
  const companies = lookup(queries.companies, queries.toCompany)
  const serverKeys = lookup(queries.serverKeys, queries.toServerKey)
  const listener = listenForChanges({
    pool,
    logger,
    onChange(company_id) {
      for (const cache of [apps, companies, serverKeys]) cache.invalidate(company_id)
    },
  })

  return {
    findApp: (key) => (appKeyShape.test(key) ? apps.find(key) : nobody),
    findCompany: (key) => (companyKeyShape.test(key) ? companies.find(key) : nobody),
    findServerKey: (key) => (serverKeyShape.test(key) ? serverKeys.find(hash('sha256', key, 'hex')) : nobody),
    close: () => listener.close(),
  }
}

function countLoads(registry: Registry | undefined): (result: 'query' | 'failure' | 'stale_answer') => void {
  if (registry === undefined) return () => {}
  const counter = new Counter({
    name: 'tributary_credentials_loads_total',
    help: 'Queries of credentials to PostgreSQL, failed ones, and stale answers given meanwhile',
    labelNames: ['result'],
    registers: [registry],
  })
  return (result) => counter.inc({ result })
}
