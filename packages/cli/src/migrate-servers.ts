import { migrateClickhouse } from '@tributary/clickhouse/migrate'
import { migratePostgres } from '@tributary/postgres/migrate'
import { clickhouseSettings, openClickhouse } from '@tributary/service-kit/engines/clickhouse'
import { toRefusal } from '@tributary/service-kit/engines/engine-refused'
import { openPostgresServer, postgresSettings } from '@tributary/service-kit/engines/postgres'
import { withService } from './brief-service.ts'
import { readEngineSettings } from './config.ts'

/** A statement ON CLUSTER waits for every node, by default 180 seconds. */
const statement_ms_min = 200_000

/** Migrates the PostgreSQL of the settings; throws `StartRefused` when it can't be. */
export function migratePostgresServer(dryRun: boolean): Promise<string[]> {
  const config = readEngineSettings(postgresSettings, ['TRIBUTARY_POSTGRES_URL'])
  return withService(async (service) => {
    const pool = openPostgresServer(config, service)
    const { files } = await migratePostgres({ pool, dryRun }).catch((error: unknown) => {
      throw toRefusal('PostgreSQL', 'TRIBUTARY_POSTGRES_URL', error)
    })
    return files.map((file) => file.replace(/\.sql$/, ''))
  })
}

/** Migrates the ClickHouse of the settings, its tables replicated or on a cluster as they say; throws `StartRefused`. */
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
    const parameters = { replicated, ...(on_cluster !== undefined && { on_cluster }) }
    return migrateClickhouse({ clickhouse, dryRun, parameters }).catch((error: unknown) => {
      throw toRefusal('ClickHouse', 'TRIBUTARY_CLICKHOUSE_URL', error)
    })
  })
}
