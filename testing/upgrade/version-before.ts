import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const git_ms_max = 120_000
const install_ms_max = 300_000

export interface VersionBefore {
  /** Full id. */
  commit: string
  /** Number of its newest migration of ClickHouse and of PostgreSQL. */
  clickhouse: number
  postgres: number
  /** Whether its services start on schemas that newer migrations have added to. */
  starts_on_newer_schemas: boolean
}

/** The version that upgrades are promised from; `testing/upgrade/main.ts` moves it forward. */
export const versionBefore = (): VersionBefore =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'version-before.json'), 'utf8'))

/**
 * Writes the files of a commit into `dir`, ready to start its services. Third-party packages are links to those of this checkout when its
 * lock file has the same; otherwise npm installs them. Throws when the history of this clone lacks the commit and `origin` does
 * not give it.
 */
export async function unpackVersion(commit: string, dir: string, repository = root): Promise<void> {
  await findCommit(commit, repository)
  await mkdir(dir, { recursive: true })
  const archive = join(dir, 'version.tar')
  await git(repository, 'archive', '--format=tar', '--output', archive, commit)
  await run('tar', ['--extract', '--file', archive, '--directory', dir], { timeout: git_ms_max })
  const [before, now] = await Promise.all([dir, root].map(readLockFile))
  const differing = Object.keys(before!).filter(
    (path) => isThirdParty(path, before!) && !isSame(before![path], now![path]),
  )
  if (differing.length === 0) await linkPackages(before!, dir)
  else await run('npm', ['install', '--no-save', '--no-audit', '--no-fund'], { cwd: dir, timeout: install_ms_max })
}

const git = (repository: string, ...words: string[]) =>
  run('git', ['-C', repository, ...words], { timeout: git_ms_max })

async function findCommit(commit: string, repository: string): Promise<void> {
  const isThere = () =>
    git(repository, 'cat-file', '-e', `${commit}^{commit}`).then(
      () => true,
      () => false,
    )
  if (await isThere()) return
  // A shallow clone gets this one commit, as far as its origin gives it.
  await git(repository, 'fetch', '--quiet', '--depth', '1', 'origin', commit).catch(() => {})
  if (await isThere()) return
  throw new Error(
    `The history of this clone lacks ${commit}, the version before (testing/upgrade/version-before.json), and its origin did not ` +
      'give it. The test of rolling upgrades starts its services. Run: git fetch --unshallow',
  )
}

interface LockedPackage {
  version?: string
  integrity?: string
  /** A workspace: the folder that it is in. */
  link?: boolean
  resolved?: string
}

type LockFile = Record<string, LockedPackage>

const readLockFile = async (dir: string): Promise<LockFile> =>
  (JSON.parse(await readFile(join(dir, 'package-lock.json'), 'utf8')) as { packages: LockFile }).packages

const isThirdParty = (path: string, lock: LockFile) => path.includes('node_modules/') && lock[path]!.link !== true

const isSame = (before: LockedPackage | undefined, now: LockedPackage | undefined) =>
  before?.version === now?.version && before?.integrity === now?.integrity

/** Links each package of the lock file: workspaces to those of `dir`, the others to what this checkout has installed. */
async function linkPackages(lock: LockFile, dir: string): Promise<void> {
  for (const [path, { link, resolved }] of Object.entries(lock)) {
    // A package inside another one comes with that one.
    if (path.split('node_modules/').length !== 2) continue
    const target = link === true ? join(dir, resolved!) : join(root, path)
    if (!existsSync(target)) continue // optional, of another platform
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await symlink(target, join(dir, path))
  }
}
