import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clickhouse } from '../clickhouse.ts'

/** A part that the engine put aside when it opened the table. */
export interface BrokenPart {
  table: string
  name: string
  path: string
  /** False: other parts hold all of its rows, which are those it was merged from. */
  lost: boolean
}

interface BlockRange {
  table: string
  partition_id: string
  first: number
  last: number
}

/** The parts that the engine found broken and put aside, as long as nobody closed them. */
export async function findBrokenParts(clickhouse: Clickhouse): Promise<BrokenPart[]> {
  const detached = await clickhouse.query<BrokenPart & BlockRange>(`
    SELECT table, partition_id, min_block_number AS first, max_block_number AS last, name, path
    FROM system.detached_parts WHERE database = currentDatabase() AND startsWith(reason, 'broken') ORDER BY table, name`)
  if (detached.length === 0) return []
  const active = await clickhouse.query<BlockRange>(`
    SELECT table, partition_id, min_block_number AS first, max_block_number AS last
    FROM system.parts WHERE database = currentDatabase() AND active`)
  return detached.map(({ table, name, path, ...range }) => ({
    ...{ table, name, path },
    lost: !isCovered({ ...range, table }, active),
  }))
}

/** Whether every block of the range is in one of the parts. */
function isCovered(range: BlockRange, parts: readonly BlockRange[]): boolean {
  const same = parts.filter(({ table, partition_id }) => table === range.table && partition_id === range.partition_id)
  let next = range.first
  for (const { first, last } of same.toSorted((a, b) => a.first - b.first)) {
    if (first <= next) next = Math.max(next, last + 1)
  }
  return next > range.last
}

/** Deletes the folder of a broken part, or keeps it under a name that the engine passes over. */
export async function closeBrokenPart({ path, lost }: BrokenPart, keep: boolean): Promise<void> {
  if (!lost || !keep) return rm(path, { recursive: true, force: true })
  const folder = path.replace(/\/$/, '')
  // A table that was emptied uses the names of its parts again.
  const kept = `${basename(folder).replace(/^broken/, 'kept')}_${Date.now().toString(36)}`
  await rename(folder, join(dirname(folder), kept))
}

export interface CutPart {
  table: string
  name: string
  /** The parts that it was merged from are still there. */
  restorable: boolean
}

interface ActivePart extends BlockRange {
  name: string
  path: string
  bytes: number
}

/** The engine finds the codec out by itself when this file is empty or gone. */
const needless = 'default_compression_codec.txt'
/** Files that the sum of a part leaves out; all others are in `bytes_on_disk`. */
const unsummed = new Set(['checksums.txt', 'columns.txt', 'columns_substreams.txt', needless, 'metadata_version.txt'])

/**
 * Compares the files of new parts with what the engine knows of them. On a disk that fills up engine 26.7 takes parts
 * into use whose files were cut off. The parts that they were merged from are kept for some minutes (embedded-engine.xml).
 */
export function createPartCheck(clickhouse: Clickhouse) {
  const whole = new Set<string>()

  /** The active parts that are not whole on the disk. A part that was whole once is not looked at again. */
  return async function findCutParts(): Promise<CutPart[]> {
    const parts = await clickhouse.query<ActivePart>(selectParts('active'))
    const active = new Set(parts.map(({ path }) => path))
    for (const path of whole) if (!active.has(path)) whole.delete(path)
    const cut: ActivePart[] = []
    for (const part of parts.filter(({ path }) => !whole.has(path))) {
      if (await isWhole(part)) whole.add(part.path)
      else cut.push(part)
    }
    if (cut.length === 0) return []
    // A part that was merged away and deleted meanwhile is not cut.
    const still = new Set((await clickhouse.query<ActivePart>(selectParts('active'))).map(({ path }) => path))
    const replaced = await clickhouse.query<ActivePart>(selectParts('NOT active'))
    return cut
      .filter(({ path }) => still.has(path))
      .map((part) => ({ table: part.table, name: part.name, restorable: isCovered(part, replaced) }))
  }
}

const selectParts = (which: string) => `
  SELECT table, partition_id, min_block_number AS first, max_block_number AS last, name, path, bytes_on_disk AS bytes
  FROM system.parts WHERE database = currentDatabase() AND ${which}`

async function isWhole({ path, bytes }: ActivePart): Promise<boolean> {
  let sum = 0
  const names = await readdir(path).catch((): string[] => [])
  for (const name of names) {
    const found = await stat(join(path, name)).catch(() => null)
    if (found === null || found.isDirectory()) continue
    if (unsummed.has(name) && name !== needless && found.size === 0) return false
    if (!unsummed.has(name)) sum += found.size
  }
  return names.includes('checksums.txt') && sum === bytes
}

/**
 * Lets the engine read the table from the disk again: it puts broken parts aside and takes back those they were merged from.
 * Its files may be changed while it is away.
 */
export async function reloadTable(clickhouse: Clickhouse, table: string, whileAway = async () => {}): Promise<void> {
  await clickhouse.command(`DETACH TABLE IF EXISTS ${table}`)
  await whileAway()
  await clickhouse.command(`ATTACH TABLE IF NOT EXISTS ${table}`)
}
