import { constants } from 'node:fs'
import { chmod, copyFile, lchown, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'

export interface CopyTreeOptions {
  /** Gets the path below `from`. True skips that file or folder. */
  skip?: (path: string) => boolean
  /** Skips files that were changed at this time or later. */
  before_ms?: number
}

export interface Copied {
  files: number
  bytes: number
}

/** Copies a folder with owners while others change it, closed to other users. Skips files that vanish meanwhile. */
export async function copyTree(from: string, to: string, options: CopyTreeOptions = {}): Promise<Copied> {
  const copied: Copied = { files: 0, bytes: 0 }
  await copyFolder('')
  return copied

  async function copyFolder(path: string): Promise<void> {
    const source = join(from, path)
    await mkdir(join(to, path), { recursive: true })
    await keepOwner(source, join(to, path), path === '')
    for (const entry of await readdir(source, { withFileTypes: true })) {
      const inner = join(path, entry.name)
      if (options.skip?.(inner)) continue
      const copying = entry.isDirectory() ? copyFolder(inner) : copyOne(join(from, inner), join(to, inner))
      await copying.catch(ignoreVanished)
    }
  }

  async function copyOne(source: string, target: string): Promise<void> {
    const found = await lstat(source)
    if (found.isSymbolicLink()) return symlink(await readlink(source), target)
    if (!found.isFile() || found.mtimeMs >= (options.before_ms ?? Number.POSITIVE_INFINITY)) return
    await copyFile(source, target, constants.COPYFILE_FICLONE)
    await keepOwner(source, target)
    copied.files += 1
    copied.bytes += found.size
  }
}

/**
 * Keeps what the mode gives the owner, and as root the owner: PostgreSQL refuses a folder that others own or may read. Other
 * users get nothing, except that they may enter the top folder of root if they may enter the original: PostgreSQL runs as one of them.
 */
async function keepOwner(source: string, target: string, is_top = false): Promise<void> {
  const { uid, gid, mode } = await lstat(source)
  const is_root = process.getuid?.() === 0
  if (is_root) await lchown(target, uid, gid)
  await chmod(target, mode & (is_root && is_top ? 0o711 : 0o700))
}

function ignoreVanished(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
