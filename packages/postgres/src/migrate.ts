import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool, PoolClient } from 'pg'

/** One file of the migrations folder, `NNNN_name.sql`. */
interface Migration {
  version: number
  file: string
  checksum: string
  sql: string
}

export interface MigrateOptions {
  pool: Pool
  /** Folder of the migrations; the product's own by default. */
  dir?: string
  /** Only returns what would run. */
  dryRun?: boolean
  /** Whether an applied file of a newer version, which this code lacks, does no harm to it. Default: none. */
  accepts?: (file: string) => boolean
}

/** Any number will do, as long as nothing else uses it for a lock. */
const migration_lock = 7_361_204_158_013

/**
 * Brings the schema up to the code: each missing migration in a transaction of its own, one process at a time. Returns
 * the files applied (or, with `dryRun`, to be applied). Throws when an applied file was changed or when the schema is
 * ahead of the code by a file that is not accepted; nothing is touched then.
 */
export async function migratePostgres(options: MigrateOptions): Promise<{ files: string[] }> {
  const { pool, dir = join(import.meta.dirname, '..', 'migrations'), dryRun = false, accepts = none } = options
  const known = await readMigrations(dir)
  const client = await pool.connect()
  try {
    if (dryRun) return { files: pendingOf(known, await readApplied(client), accepts).map(({ file }) => file) }
    // Another process may migrate for long: waiting for the lock and a migration have no time limit.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
    await query(client, 'SELECT pg_advisory_lock($1)', [migration_lock])
    const pending = pendingOf(known, await readApplied(client), accepts)
    for (const migration of pending) await apply(client, migration)
    return { files: pending.map(({ file }) => file) }
  } finally {
    // Ends the session, and with it the lock and the changed settings.
    client.release(true)
  }
}

async function readMigrations(dir: string): Promise<Migration[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith('.sql')).sort()
  const migrations = await Promise.all(
    files.map(async (file) => {
      const sql = await readFile(join(dir, file), 'utf8')
      const version = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]
      if (version === undefined) throw new Error(`${file} is not named NNNN_name.sql`)
      return { version: Number(version), file, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
  const gap = migrations.find(({ version }, index) => version !== index + 1)
  if (gap !== undefined) throw new Error(`The migrations must count up from 0001 without a gap: see ${gap.file}`)
  return migrations
}

type Applied = Pick<Migration, 'version' | 'file' | 'checksum'>

async function readApplied(client: PoolClient): Promise<Applied[]> {
  const { rows } = await query(client, "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists")
  if (!rows[0].exists) return []
  return (await query(client, 'SELECT version, file, checksum FROM schema_migrations ORDER BY version')).rows
}

const none = () => false

function pendingOf(
  known: readonly Migration[],
  applied: readonly Applied[],
  accepts: (file: string) => boolean,
): Migration[] {
  for (const { version, file, checksum } of applied) {
    const migration = known[version - 1]
    if (migration === undefined) {
      if (accepts(file)) continue
      throw new Error(
        `The PostgreSQL schema is ahead of this code (it has ${file}): start a newer version of Tributary.`,
      )
    }
    if (migration.checksum !== checksum) {
      throw new Error(
        version === 1
          ? `These PostgreSQL tables were made by a development version from before the baseline, or ${migration.file} was changed after it was applied. Begin with an empty database or data folder, or start the version that made them.`
          : `${migration.file} was changed after it was applied: restore it and add a new migration instead.`,
      )
    }
  }
  return known.slice(applied.length)
}

async function apply(client: PoolClient, { version, file, sql, checksum }: Migration): Promise<void> {
  try {
    await query(client, 'BEGIN')
    if (version === 1) {
      await query(
        client,
        `CREATE TABLE schema_migrations (version integer PRIMARY KEY, file text NOT NULL, checksum text NOT NULL,
         applied_at timestamptz NOT NULL DEFAULT now())`,
      )
    }
    await query(client, sql)
    await query(client, 'INSERT INTO schema_migrations (version, file, checksum) VALUES ($1, $2, $3)', [
      version,
      file,
      checksum,
    ])
    await query(client, 'COMMIT')
  } catch (cause) {
    await client.query('ROLLBACK').catch(() => {})
    throw new Error(`${file} failed, nothing of it was kept: ${(cause as Error).message}`, { cause })
  }
}

/** A query without the pool's client-side time limit. */
const query = (client: PoolClient, text: string, values?: unknown[]) =>
  client.query({ text, ...(values ? { values } : {}), query_timeout: 24 * 3600 * 1000 } as { text: string })
