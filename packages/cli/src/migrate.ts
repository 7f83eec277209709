import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { lockDataDir } from '@tributary/service-kit/data-dir-lock'
import { createLogger } from '@tributary/service-kit/logger'
import { StartRefused } from '@tributary/service-kit/run-service'
import { readConfig } from './config.ts'
import { CliError } from './errors.ts'

/** Names of the migrations that ran, or would run. */
export interface Migrated {
  postgres: string[]
  clickhouse: string[]
}

/**
 * Migrates the servers that the settings name, and the embedded engines of the data folder for the rest. Throws CliError
 * `no_data_folder` or `data_folder_in_use`, `StartRefused` for a server that can't be used.
 */
export async function migrate(dryRun: boolean): Promise<Migrated> {
  const { data_dir, servers } = readConfig()
  const folder = resolve(data_dir)
  const lock = servers.postgres && servers.clickhouse ? null : takeLock(folder)
  try {
    const { migrateClickhouseServer, migratePostgresServer } = await import('./migrate-servers.ts')
    return {
      postgres: await (servers.postgres ? migratePostgresServer(dryRun) : migratePostgresIn(folder, dryRun)),
      clickhouse: await (servers.clickhouse ? migrateClickhouseServer(dryRun) : migrateClickhouseIn(folder, dryRun)),
    }
  } finally {
    lock?.release()
  }
}

function takeLock(folder: string) {
  if (!existsSync(folder))
    throw new CliError('no_data_folder', `There is no ${folder} yet; the first npm start makes it.`)
  try {
    return lockDataDir(folder)
  } catch (error) {
    if (error instanceof StartRefused) throw new CliError('data_folder_in_use', error.message)
    throw error
  }
}

// The engines are loaded here and not at the top: half a second that no other command should wait for.

async function migratePostgresIn(folder: string, dryRun: boolean): Promise<string[]> {
  const { openEmbeddedPostgres } = await import('@tributary/postgres/embedded-postgres')
  const { openPostgres } = await import('@tributary/postgres/postgres')
  const { migratePostgres } = await import('@tributary/postgres/migrate')
  const logger = createLogger({ name: 'migrate', level: 'silent', pretty: false })
  const server = await openEmbeddedPostgres({ data_dir: made(folder, 'postgres'), logger })
  try {
    const pool = openPostgres({ url: server.url, pool_max: 1, statement_timeout_ms: 10_000, connect_timeout_ms: 5000 })
    try {
      return (await migratePostgres({ pool, dryRun })).files.map((file) => file.replace(/\.sql$/, ''))
    } finally {
      await pool.end()
    }
  } finally {
    await server.close()
  }
}

async function migrateClickhouseIn(folder: string, dryRun: boolean): Promise<string[]> {
  const { openEmbeddedClickhouse } = await import('@tributary/clickhouse/embedded')
  const { migrateClickhouse } = await import('@tributary/clickhouse/migrate')
  const clickhouse = await openEmbeddedClickhouse({ data_dir: made(folder, 'clickhouse') })
  try {
    return await migrateClickhouse({ clickhouse, dryRun })
  } finally {
    await clickhouse.close()
  }
}

/** The folder of one engine, as standalone names it. */
function made(folder: string, engine: string): string {
  const path = join(folder, engine)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}
