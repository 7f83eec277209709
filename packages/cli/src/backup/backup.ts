import { execFile } from 'node:child_process'
import { access, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { CopyFolder } from '@tributary/postgres/embedded/copy-cluster'
import { type CliConfig, readConfig } from '../config.ts'
import { lockFolder } from '../engines/data-folder.ts'
import { CliError } from '../errors.ts'
import { findInstance, otherInstance } from '../find-instance.ts'
import { type Copied, type CopyTreeOptions, copyTree } from './copy-tree.ts'

export interface Backup extends Copied {
  folder: string
}

/**
 * Copies the data folder of a running standalone. A start on the copy has every event that was acknowledged before the
 * backup, and counts none twice. Throws CliError.
 */
export async function backUp(target: string): Promise<Backup> {
  const config = readConfig()
  const { servers } = config
  const data_dir = resolve(config.data_dir)
  const folder = resolve(target)
  await refuse(data_dir, folder)
  await refuseOther(config)
  const partial = `${folder}.partial`
  const links = join(data_dir, '.backup-links')
  await mkdir(links, { recursive: true, mode: 0o700 })
  const lock = lockLinks(links)
  try {
    await rm(join(links, 'clickhouse'), { recursive: true, force: true })
    await mkdir(partial, { mode: 0o700 }).catch(refuseLeftover)
    const copied = await copyParts({ data_dir, partial, links, servers })
    // The copy gets its final name only once it is durable.
    await flush(partial)
    await rename(partial, folder)
    await flush(folder)
    return { folder, ...copied }
  } finally {
    await rm(links, { recursive: true, force: true })
    lock.release()
  }
}

interface Folders extends Pick<CliConfig, 'servers'> {
  data_dir: string
  partial: string
  links: string
}

/**
 * Copies the parts in this order, so that each part holds at least what the earlier ones need
 * (docs/decisions/running.md#a-hot-backup-copies-raw-events-then-the-log).
 */
async function copyParts({ data_dir, partial, links, servers }: Folders): Promise<Copied> {
  const total: Copied = { files: 0, bytes: 0 }
  const copy = async (from: string, to: string, options?: CopyTreeOptions) => {
    const { files, bytes } = await copyTree(from, to, options)
    total.files += files
    total.bytes += bytes
  }
  const copyPart = (name: string, options?: CopyTreeOptions) => copy(join(data_dir, name), join(partial, name), options)
  const { copyLmdb } = await import('@tributary/broker/embedded/copy-lmdb')
  const { isTableData, linkTables } = await import('@tributary/clickhouse/repair/link-tables')
  const { copyCluster } = await import('@tributary/postgres/embedded/copy-cluster')

  // 0. What is known to be in the audit store alone: a replay that ends meanwhile fills tables that may be copied already.
  await copyPart('', { skip: (path) => path !== 'replay-needed.json' })
  // 1. The tables. The log still holds all rows that are written from now on. The copy reads its log from the beginning.
  if (!servers.clickhouse) await linkTables(join(data_dir, 'clickhouse'), join(links, 'clickhouse'))
  // 2. The log, with all events that were acknowledged before this command.
  if (!servers.log) await copyLmdb(join(data_dir, 'log'), join(partial, 'log'))
  if (!servers.counters) await copyLmdb(join(data_dir, 'key-value'), join(partial, 'key-value'))
  // 3. Companies, apps and keys, at least those of the events in the log.
  const copyChanging: CopyFolder = (from, to, skip) => copy(from, to, { skip })
  if (!servers.postgres) await copyCluster(join(data_dir, 'postgres'), join(partial, 'postgres'), copyChanging)
  // 4. The audit objects, at least those of the events in the log. Younger ones may be half-written. The journal comes
  //    last: it holds all objects that are not safe in a file yet.
  if (!servers.audit) {
    await copyPart('audit', { skip: (path) => path === '.tmp' || path === '.journal', before_ms: Date.now() })
    await copyPart('audit/.journal')
  }
  // 5. Files that never change: secrets, demo keys, and the table parts that step 1 linked.
  await copyPart('', { skip: (path) => !kept_files.includes(path) })
  if (!servers.clickhouse) {
    await copyPart('clickhouse', { skip: isTableData })
    await copy(join(links, 'clickhouse'), join(partial, 'clickhouse'))
    await writeFile(join(partial, 'fill-tables-again'), note, { mode: 0o600 })
  }
  return total
}

const note = 'A backup: the first start fills every table from events_raw_v1, and reads the log again.\n'
const kept_files = ['master-key', 'admin-token', 'demo.env']

/** Writes a file system to its disk. Only Linux can flush a single file system. */
const flush = (path: string) => promisify(execFile)('sync', process.platform === 'linux' ? ['-f', path] : [])

async function refuse(data_dir: string, folder: string): Promise<void> {
  const exists = await access(folder).then(
    () => true,
    () => false,
  )
  if (exists)
    throw new CliError(
      'folder_exists',
      `${folder} exists already. Name a folder that does not exist: the backup makes it.`,
    )
  const parent = await stat(dirname(folder)).catch(() => null)
  if (parent === null || !parent.isDirectory())
    throw new CliError(
      'no_parent_folder',
      `${dirname(folder)} is no folder. Make it first: mkdir -p ${dirname(folder)}`,
    )
  if (!relative(data_dir, dirname(folder)).startsWith('..'))
    throw new CliError(
      'folder_inside',
      `${folder} is inside the data folder. Name a folder outside, best on another disk.`,
    )
  if (isFree(data_dir))
    throw new CliError('not_running', `No process uses ${data_dir}. Copy it as it is: cp -a ${data_dir} ${folder}`)
}

/** Refuses when TRIBUTARY_URL and the data folder belong to different starts: the user may mean either. */
async function refuseOther(config: CliConfig): Promise<void> {
  const instance = await findInstance(config).catch(() => 'away' as const)
  if (instance !== 'other' && instance !== 'wrong_token') return
  const { found, fix } = otherInstance(config)
  throw new CliError('other_service', `${found}. ${fix}`)
}

function isFree(data_dir: string): boolean {
  try {
    lockFolder(data_dir).release()
    return true
  } catch (error) {
    if (error instanceof CliError && error.code === 'data_folder_in_use') return false
    throw error
  }
}

/** Allows one backup at a time. The next backup removes the leftovers of a killed one. */
function lockLinks(links: string) {
  try {
    return lockFolder(links)
  } catch (error) {
    if (!(error instanceof CliError) || error.code !== 'data_folder_in_use') throw error
    throw new CliError('backup_running', 'Another backup of this data folder is running. Wait until it ends.')
  }
}

function refuseLeftover(error: NodeJS.ErrnoException): never {
  if (error.code !== 'EEXIST') throw error
  throw new CliError('folder_exists', `${error.path} is left from an interrupted backup. Delete it.`)
}
