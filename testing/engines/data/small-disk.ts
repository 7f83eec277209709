import { execFile } from 'node:child_process'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface SmallDisk {
  dir: string
  /** The disk takes at most this much from now on. */
  fill(left_bytes?: number): Promise<void>
  /** There is room again. */
  free(): Promise<void>
  close(): Promise<void>
}

/** Whether a disk can be filled here. Only where engines are required does it matter if not: then the test fails. */
export function hasSmallDisk(): boolean {
  if (process.platform === 'linux' || process.env.TRIBUTARY_REQUIRE_ENGINES === '1') return true
  process.stderr.write('No disk that a test may fill here, its tests are skipped: it needs Linux\n')
  return false
}

/** A disk that a test can fill: one in memory for root, else a limit on the size of every file of this process. */
export async function openSmallDisk(bytes: number): Promise<SmallDisk> {
  const mounted = await mountSmallDisk(bytes, 'tmpfs')
  if (mounted !== null) return mounted
  const dir = await mkdtemp(join(tmpdir(), 'tributary-small-disk-'))
  const limited = limitedFiles()
  return {
    dir,
    ...limited,
    async close() {
      await limited.free()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

export type DiskKind = 'tmpfs' | 'ext4'

/** A file system of its own, in memory or in a file; null where none may be mounted: it takes root. */
export async function mountSmallDisk(bytes: number, kind: DiskKind): Promise<SmallDisk | null> {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-small-disk-'))
  const image = `${dir}.img`
  const remove = async () => {
    await rm(dir, { recursive: true, force: true })
    await rm(image, { force: true })
  }
  const mount = async () => {
    if (kind === 'tmpfs') return run('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir])
    await run('truncate', ['-s', String(bytes), image])
    await run('mkfs.ext4', ['-q', '-m', '0', image])
    return run('mount', ['-o', 'loop', image, dir])
  }
  const mounted = await mount().then(
    () => true,
    () => false,
  )
  if (!mounted) {
    await remove()
    return null
  }
  const disk = filledDisk(dir)
  return {
    dir,
    ...disk,
    async close() {
      await disk.free()
      await run('umount', ['-l', dir])
      await remove()
    },
  }
}

/** A file that takes all the room there is. */
function filledDisk(dir: string): Pick<SmallDisk, 'fill' | 'free'> {
  const filler = join(dir, '.filler')
  return {
    async fill(left_bytes = 0) {
      const file = await open(filler, 'a')
      try {
        for (const block of [Buffer.alloc(1024 * 1024), Buffer.alloc(4096)]) await appendUntilFull(file, block)
        const { size } = await file.stat()
        await file.truncate(Math.max(0, size - left_bytes))
      } finally {
        await file.close()
      }
    },
    free: () => rm(filler, { force: true }),
  }
}

async function appendUntilFull(file: FileHandle, block: Buffer): Promise<void> {
  try {
    for (;;) await file.appendFile(block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

function limitedFiles(): Pick<SmallDisk, 'fill' | 'free'> {
  const limit = (fsize: string) => run('prlimit', [`--pid=${process.pid}`, `--fsize=${fsize}`])
  // The signal that comes with a refused write ends a process that does not listen.
  process.on('SIGXFSZ', () => {})
  return {
    fill: async (left_bytes = 0) => void (await limit(`${left_bytes}:`)),
    free: async () => void (await limit('unlimited:')),
  }
}
