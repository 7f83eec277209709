import { chown, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { openPostgres } from '../postgres.ts'
import { cluster_user } from './embedded-cluster.ts'

/** Copies a folder that is changed meanwhile, without what `skip` names below it. */
export type CopyFolder = (from: string, to: string, skip: (path: string) => boolean) => Promise<void>

/**
 * Copies the cluster of a running embedded PostgreSQL by its own protocol (documentation, "Making a Base Backup Using the Low
 * Level API"): a start on the copy recovers to the moment at which this ends.
 */
export async function copyCluster(data_dir: string, to: string, copy: CopyFolder): Promise<void> {
  const cluster = join(data_dir, 'cluster')
  const [password, pid_file] = await Promise.all([
    readFile(join(data_dir, 'password'), 'utf8'),
    readFile(join(cluster, 'postmaster.pid'), 'utf8'),
  ])
  const url = `postgres://${cluster_user}:${password.trim()}@127.0.0.1:${pid_file.split('\n')[3]}/postgres`
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 60_000, connect_timeout_ms: 5000 })
  try {
    const client = await pool.connect()
    try {
      await copyBetween(client, data_dir, to, copy)
    } finally {
      // Whatever goes wrong: the end of its session ends the backup.
      client.release(true)
    }
  } finally {
    await pool.end()
  }
}

async function copyBetween(client: PoolClient, data_dir: string, to: string, copy: CopyFolder): Promise<void> {
  await client.query(`SELECT pg_backup_start('tributary', fast => true)`)
  await copy(data_dir, to, (path) => unwanted.test(path))
  const { rows } = await client.query<{ labelfile: string }>(
    'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
  )
  const label = rows[0]!.labelfile
  const log = join('cluster', 'pg_wal')
  await copy(join(data_dir, log), join(to, log), () => false)
  const [, first] = /\(file ([0-9A-F]{24})\)/.exec(label) ?? []
  // A checkpoint in between may have removed it; then the copy could never be recovered.
  await stat(join(to, log, first ?? 'none'))
  const label_file = join(to, 'cluster', 'backup_label')
  await writeFile(label_file, label, { mode: 0o600 })
  // The server reads it, which is another user where root copies.
  const { uid, gid } = await stat(join(data_dir, 'cluster'))
  if (process.getuid?.() === 0) await chown(label_file, uid, gid)
}

/** Files of a running server alone, and its write-ahead log, which is copied last. */
const unwanted =
  /^cluster\/(?:postmaster\.(?:pid|opts)$|pg_wal\/[0-9A-F]{24}|pg_(?:dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\/)/
