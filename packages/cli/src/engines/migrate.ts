import { resolve } from 'node:path'
import { readConfig } from '../config.ts'
import { engineFolder, lockFolder, withPostgresIn } from './data-folder.ts'

/** Names of the migrations that ran, or would run with `dryRun`. */
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
  const lock = servers.postgres && servers.clickhouse ? null : lockFolder(folder)
  try {
    const { migrateClickhouseServer, migratePostgresServer } = await import('./migrate-servers.ts')
    const both = async (dry: boolean): Promise<Migrated> => ({
      postgres: await (servers.postgres ? migratePostgresServer(dry) : migratePostgresIn(folder, dry)),
      clickhouse: await (servers.clickhouse ? migrateClickhouseServer(dry) : migrateClickhouseIn(folder, dry)),
    })
    // If one of them refuses this version, the other is not changed either: the version before must still start.
    const planned = await both(true)
    return dryRun ? planned : await both(false)
  } finally {
    lock?.release()
  }
}

// Engines are imported inside the functions: loading them takes half a second, and other commands don't need them.

async function migratePostgresIn(folder: string, dryRun: boolean): Promise<string[]> {
  const { migratePostgres } = await import('@tributary/postgres/migrate')
  const { files } = await withPostgresIn(folder, (pool) => migratePostgres({ pool, dryRun }))
  return files.map((file) => file.replace(/\.sql$/, ''))
}

async function migrateClickhouseIn(folder: string, dryRun: boolean): Promise<string[]> {
  const { openEmbeddedClickhouse } = await import('@tributary/clickhouse/embedded')
  const { migrateClickhouse } = await import('@tributary/clickhouse/schema/migrate')
  const clickhouse = await openEmbeddedClickhouse({ data_dir: engineFolder(folder, 'clickhouse') })
  try {
    return await migrateClickhouse({ clickhouse, dryRun })
  } finally {
    await clickhouse.close()
  }
}
