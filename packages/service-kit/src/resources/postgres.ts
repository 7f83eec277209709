import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import type { Pool } from 'pg'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { EngineRefused, toRefusal } from './engine-refused.ts'
import { onlyAdds } from './only-adds.ts'
import type { Resource } from './resource.ts'

export const postgresSettings = [
  'TRIBUTARY_POSTGRES_URL',
  'TRIBUTARY_POSTGRES_POOL_MAX',
  'TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS',
] as const
type PostgresConfig = Settings<(typeof postgresSettings)[number], 'TRIBUTARY_POSTGRES_URL'>

const connect_timeout_ms = 5000

/** A pool on a PostgreSQL server as the settings say. */
export function openPostgresServer(config: PostgresConfig, { onClose, checks }: Service): Pool {
  const pool = openPostgres({
    url: config.TRIBUTARY_POSTGRES_URL,
    pool_max: config.TRIBUTARY_POSTGRES_POOL_MAX,
    statement_timeout_ms: config.TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS,
    connect_timeout_ms,
  })
  onClose('postgres pool', () => pool.end())
  checks.database = async () => void (await pool.query('SELECT 1'))
  return pool
}

/** Throws `StartRefused` when a migration is missing, or one is ahead that takes something away: a service never changes a schema. */
export async function requirePostgresSchema(pool: Pool): Promise<void> {
  const { files } = await migratePostgres({ pool, dryRun: true, accepts: onlyAdds }).catch((error: unknown) => {
    throw toRefusal('PostgreSQL', 'TRIBUTARY_POSTGRES_URL', error)
  })
  if (files.length > 0) {
    throw new EngineRefused(`PostgreSQL lacks ${files.length} migrations (${files[0]}).`, 'Run: npx tributary migrate')
  }
}

/** A pool on a migrated PostgreSQL server. */
export const postgresEngine: Resource<Pool, (typeof postgresSettings)[number], 'TRIBUTARY_POSTGRES_URL'> = {
  binding: 'database',
  settings: postgresSettings,
  required: ['TRIBUTARY_POSTGRES_URL'],
  async open(config, service) {
    const pool = openPostgresServer(config, service)
    await requirePostgresSchema(pool)
    return pool
  },
}
