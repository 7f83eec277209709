import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Files that are open at the same time, where each is synced by itself. */
const files_max = 16

/**
 * Makes files below `root`, and the directories that lead to them, durable. Linux syncs their whole file system in one
 * call, which Node does not have but coreutils' `sync -f` has; elsewhere, and where that fails, they are synced one by one.
 */
export async function syncFiles(root: string, names: readonly string[]): Promise<void> {
  if (process.platform === 'linux' && names.length > files_max && (await syncFileSystem(root))) return
  const paths = [...new Set(names)]
  const directories = new Set(paths.flatMap((name) => parentsOf(name)))
  await syncEach(root, paths)
  await syncEach(root, [...directories])
}

const syncFileSystem = (path: string): Promise<boolean> =>
  run('sync', ['-f', path]).then(
    () => true,
    () => false,
  )

/** Parents of a name: those of `a/b/c` are `a/b`, `a` and the root. */
function parentsOf(name: string): string[] {
  const parent = dirname(name)
  return parent === '.' ? ['.'] : [parent, ...parentsOf(parent)]
}

async function syncEach(root: string, names: string[]): Promise<void> {
  const left = names.values()
  const workOn = async () => {
    for (const name of left) await syncPath(join(root, name))
  }
  await Promise.all(Array.from({ length: files_max }, workOn))
}

/** A path that an operator has removed meanwhile needs no sync. */
async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  try {
    await file?.sync()
  } finally {
    await file?.close()
  }
}
