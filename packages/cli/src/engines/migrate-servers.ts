import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { applyServiceRoles } from '@tributary/postgres/apply-service-roles'
import { migratePostgres } from '@tributary/postgres/migrate'
import { clickhouseSettings, openClickhouse } from '@tributary/service-kit/resources/clickhouse'
import { EngineRefused, toRefusal } from '@tributary/service-kit/resources/engine-refused'
import { openPostgresServer, postgresSettings } from '@tributary/service-kit/resources/postgres'
import { readEngineSettings } from '../config.ts'
import { withService } from './brief-service.ts'

type Pool = Parameters<typeof applyServiceRoles>[0]
type Passwords = Parameters<typeof applyServiceRoles>[1]

/** A statement ON CLUSTER waits up to 180 seconds for all nodes. */
const statement_ms_min = 200_000

/** Migrates the PostgreSQL of the settings and updates the rights of the services. Throws `StartRefused`. */
export function migratePostgresServer(dryRun: boolean): Promise<string[]> {
  const config = readEngineSettings(
    [...postgresSettings, 'TRIBUTARY_POSTGRES_ROLE_PASSWORDS'],
    ['TRIBUTARY_POSTGRES_URL'],
  )
  return withService(async (service) => {
    const pool = openPostgresServer(config, service)
    const { files } = await migrateWithRoles(pool, dryRun, config.TRIBUTARY_POSTGRES_ROLE_PASSWORDS).catch((error) => {
      throw toRefusal('PostgreSQL', 'TRIBUTARY_POSTGRES_URL', error)
    })
    return files.map((file) => file.replace(/\.sql$/, ''))
  })
}

async function migrateWithRoles(pool: Pool, dryRun: boolean, passwords: Passwords = {}) {
  const migrated = await migratePostgres({ pool, dryRun })
  if (!dryRun) await applyServiceRoles(pool, passwords)
  return migrated
}

/** Migrates the ClickHouse of the settings. The settings also choose plain or replicated tables. Throws `StartRefused`. */
export function migrateClickhouseServer(dryRun: boolean): Promise<string[]> {
  const config = readEngineSettings(
    [...clickhouseSettings, 'TRIBUTARY_CLICKHOUSE_REPLICATED', 'TRIBUTARY_CLICKHOUSE_CLUSTER'],
    ['TRIBUTARY_CLICKHOUSE_URL'],
  )
  const { TRIBUTARY_CLICKHOUSE_REPLICATED: replicated, TRIBUTARY_CLICKHOUSE_CLUSTER: on_cluster } = config
  const query_timeout_ms = Math.max(config.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS, statement_ms_min)
  return withService(async (service) => {
    const patient = { ...config, TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: query_timeout_ms }
    const clickhouse = await openClickhouse(patient, service)
    if (on_cluster !== undefined) await requireOneShard(clickhouse, on_cluster)
    const parameters = { replicated, ...(on_cluster !== undefined && { on_cluster }) }
    return migrateClickhouse({ clickhouse, dryRun, parameters }).catch(refuse)
  })
}

/** Refuses a cluster of several shards: tables are not split, so each server must hold all rows. */
async function requireOneShard(clickhouse: Clickhouse, cluster: string): Promise<void> {
  const sql = 'SELECT max(shard_num) AS shards FROM system.clusters WHERE cluster = {cluster:String}'
  const [found] = await clickhouse.query<{ shards: number }>(sql, { cluster }).catch(refuse)
  const shards = found?.shards ?? 0
  if (shards === 1) return
  if (shards === 0) {
    throw new EngineRefused(`ClickHouse knows no cluster ${cluster}.`, 'Is TRIBUTARY_CLICKHOUSE_CLUSTER right?')
  }
  throw new EngineRefused(
    `The cluster ${cluster} has ${shards} shards, and tables are not split.`,
    'Set TRIBUTARY_CLICKHOUSE_CLUSTER to a cluster with one shard, whose servers are all replicas.',
  )
}

const refuse = (error: unknown): never => {
  throw toRefusal('ClickHouse', 'TRIBUTARY_CLICKHOUSE_URL', error)
}
