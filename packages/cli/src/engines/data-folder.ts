import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { openPostgres } from '@tributary/postgres/postgres'
import { type DataDirLock, lockDataDir } from '@tributary/service-kit/data-dir/data-dir-lock'
import { createLogger } from '@tributary/service-kit/service/logger'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { readConfig, readEngineSettings } from '../config.ts'
import { CliError } from '../errors.ts'

type Pool = ReturnType<typeof openPostgres>

/** Locks the data folder for this command. Throws CliError `no_data_folder` or `data_folder_in_use`. */
export function lockFolder(folder: string): DataDirLock {
  if (!existsSync(folder))
    throw new CliError('no_data_folder', `The data folder ${folder} does not exist yet. The first npm start makes it.`)
  process.umask(0o077) // engines make files of their own here: none of them is for other users
  try {
    return lockDataDir(folder)
  } catch (error) {
    if (error instanceof StartRefused) throw new CliError('data_folder_in_use', error.message)
    throw error
  }
}

/** Makes the folder of one engine under standalone's name for it. */
export function engineFolder(folder: string, engine: string): string {
  const path = join(folder, engine)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return path
}

// Engines are imported inside the functions: loading them takes half a second, and other commands don't need them.

/** Runs `work` on the embedded PostgreSQL of a locked folder. */
export async function withPostgresIn<T>(folder: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const { openEmbeddedPostgres } = await import('@tributary/postgres/embedded/embedded-postgres')
  const { openPostgres } = await import('@tributary/postgres/postgres')
  const logger = createLogger({ name: 'cli', level: 'silent', format: 'json' })
  const server = await openEmbeddedPostgres({ data_dir: engineFolder(folder, 'postgres'), logger })
  try {
    const pool = openPostgres({ url: server.url, pool_max: 1, statement_timeout_ms: 10_000, connect_timeout_ms: 5000 })
    try {
      return await work(pool)
    } finally {
      await pool.end()
    }
  } finally {
    await server.close()
  }
}

/** Runs `work` on the PostgreSQL server of the settings, else on that of the data folder, which it locks meanwhile. */
export async function withPostgres<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const { data_dir, servers } = readConfig()
  if (servers.postgres) {
    const { openPostgresServer, postgresSettings } = await import('@tributary/service-kit/resources/postgres')
    const { withService } = await import('./brief-service.ts')
    const config = readEngineSettings(postgresSettings, ['TRIBUTARY_POSTGRES_URL'])
    return withService((service) => work(openPostgresServer(config, service)))
  }
  const folder = resolve(data_dir)
  const lock = lockFolder(folder)
  try {
    return await withPostgresIn(folder, work)
  } finally {
    lock.release()
  }
}
