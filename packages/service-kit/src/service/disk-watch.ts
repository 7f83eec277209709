import { statfs as statfsOf } from 'node:fs/promises'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Trouble } from './health.ts'

export type DiskLevel = 'ok' | 'low' | 'full'

/** Something that work has to wait for. */
export interface Gate {
  open(): boolean
  /** Resolves as soon as the gate is open. Rejects when the signal aborts first. */
  opened(signal: AbortSignal): Promise<void>
}

export interface DiskSpace {
  free_bytes: number
  size_bytes: number
}

export interface DiskWatchOptions {
  /** Folders by a short name, which metrics and log lines use. */
  folders: Record<string, string>
  /** The watch warns below it, and below a tenth of the disk. */
  free_bytes_min: number
  logger: Logger
  registry: Registry
  /** Tests set it. */
  readSpace?: (folder: string) => Promise<DiskSpace>
}

/** The gate is closed while a disk is full. */
export interface DiskWatch extends Gate {
  /** Reads the free space of every folder. The caller repeats it each `disk_look_ms`. */
  look(): Promise<void>
  troubles(): Trouble[]
}

/**
 * Space that work already under way may still take after new work is refused:
 * - bodies of requests in hand, once in the log and once in the audit store: 2 x 64 MiB
 * - two seconds until the next look, at 50 MiB/s: 100 MiB
 * - two inserts, and the deduplication logs and merges that they start: 64 MiB
 * - merges that are broken off, which hold at most what they have written so far: 128 MiB
 * - a segment of PostgreSQL's write-ahead log and a checkpoint: 64 MiB
 */
export const disk_floor_bytes = 512 * 1024 * 1024
/** A disk smaller than 4 GiB keeps this share free instead. */
const floor_share = 1 / 8
const low_share = 1 / 10
/** A level ends only this far above its limit, or a disk at the limit would change it each second. */
const hysteresis = 1.25

export const disk_look_ms = 1000

/** The level of a disk. `was` is its level at the look before. */
export function diskLevel({ free_bytes, size_bytes }: DiskSpace, free_bytes_min: number, was: DiskLevel): DiskLevel {
  const floor = Math.min(disk_floor_bytes, size_bytes * floor_share)
  const low = Math.max(free_bytes_min, size_bytes * low_share)
  if (free_bytes < (was === 'full' ? floor * hysteresis : floor)) return 'full'
  return free_bytes < (was === 'ok' ? low : low * hysteresis) ? 'low' : 'ok'
}

export async function readDiskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfsOf(folder)
  return { free_bytes: bavail * bsize, size_bytes: blocks * bsize }
}

/** Watches the free space of the folders that a process stores in. Its first look is over when this resolves. */
export async function openDiskWatch(options: DiskWatchOptions): Promise<DiskWatch> {
  const { folders, free_bytes_min, logger, readSpace = readDiskSpace } = options
  const seen = new Map<string, DiskSpace & { level: DiskLevel }>()
  const free = freeGauge(options.registry)
  let waiting: (() => void)[] = []
  const isOpen = () => [...seen.values()].every(({ level }) => level !== 'full')

  async function lookAt(name: string, folder: string) {
    const space = await readSpace(folder)
    const was = seen.get(name)?.level ?? 'ok'
    const level = diskLevel(space, free_bytes_min, was)
    seen.set(name, { ...space, level })
    free.set({ folder: name }, space.free_bytes)
    if (level === was) return
    const line = { folder, ...space }
    if (level === 'full') logger.error(line, 'disk full: no new work until there is space again')
    else if (level === 'low') logger.warn(line, 'little space left on the disk')
    else logger.info(line, 'enough space on the disk again')
  }

  async function look() {
    await Promise.all(Object.entries(folders).map(([name, folder]) => lookAt(name, folder)))
    if (!isOpen()) return
    for (const goOn of waiting.splice(0)) goOn()
  }

  await look()
  return {
    look,
    open: isOpen,
    async opened(signal) {
      signal.throwIfAborted()
      if (isOpen()) return
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = () => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      waiting.push(resolve)
      await promise.finally(() => {
        signal.removeEventListener('abort', abort)
        waiting = waiting.filter((one) => one !== resolve)
      })
    },
    troubles: () => [...seen].flatMap(([name, disk]) => diskTrouble(name, disk) ?? []),
  }
}

function diskTrouble(name: string, { free_bytes, level }: DiskSpace & { level: DiskLevel }): Trouble | null {
  const left = `${Math.floor(free_bytes / 1024 ** 2)} MiB are free on the disk of the ${name} folder.`
  if (level === 'ok') return null
  if (level === 'low') return { code: 'disk_low', message: left, refuses: false }
  return { code: 'disk_full', message: `${left} New events are refused until there is space again.`, refuses: true }
}

const freeGauge = (registry: Registry) =>
  new Gauge({
    name: 'tributary_disk_free_bytes',
    help: 'Free space of the disk under a folder of this process.',
    labelNames: ['folder'],
    registers: [registry],
  })
