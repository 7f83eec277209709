import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clickhouse } from '../clickhouse.ts'
import { textLiteral } from '../literals.ts'
import { brokenName, isCovered, type PartRange, partRange } from './part-names.ts'

/** A part that the engine put aside when it opened the table: no other part holds all of its rows. */
export interface BrokenPart {
  table: string
  name: string
  path: string
}

/** Names in the folder of a table. `parts` are in use, or were merged into others; `detached` were put aside. */
export interface TableFolder {
  parts: readonly string[]
  detached: readonly string[]
}

export async function readTableFolder(folder: string): Promise<TableFolder> {
  const [names, detached] = await Promise.all([readdir(folder), readdir(join(folder, 'detached'))])
  return { parts: names.filter((name) => partRange(name) !== null), detached }
}

/** The folder of the table of which a part was put aside: `<table>/detached/<part>/`. */
export const tableFolderOf = ({ path }: BrokenPart): string => dirname(dirname(path))

/** The parts that the engine found broken and put aside, as long as nobody closed them. */
export const findBrokenParts = (clickhouse: Clickhouse): Promise<BrokenPart[]> =>
  clickhouse.query<BrokenPart>(`
    SELECT table, name, path FROM system.detached_parts
    WHERE database = currentDatabase() AND startsWith(name, 'broken') ORDER BY table, name`)

/** The parts of a table before the engine opened it, without those that it put aside then. */
export function wholeParts(before: TableFolder, broken: readonly BrokenPart[]): PartRange[] {
  const gone = new Set(broken.filter(({ name }) => !before.detached.includes(name)).map(({ name }) => brokenName(name)))
  return before.parts.filter((name) => !gone.has(name)).flatMap((name) => partRange(name) ?? [])
}

/**
 * Deletes those of the broken parts of a table whose rows other parts hold: what they were merged from, or were merged into. Gives back
 * the others, whose rows are gone. `before` is its folder before the engine opened it: later a merge of the parts on both sides of a
 * gap has the number of the block that is gone.
 */
export async function closeCovered(broken: readonly BrokenPart[], before: TableFolder): Promise<BrokenPart[]> {
  const whole = wholeParts(before, broken)
  const lost: BrokenPart[] = []
  for (const part of broken) {
    const range = partRange(brokenName(part.name))
    // One of an earlier start has lost its rows, or would have been deleted.
    if (range === null || before.detached.includes(part.name) || !isCovered(range, whole)) lost.push(part)
    else await rm(part.path, { recursive: true, force: true })
  }
  return lost
}

/** Deletes the folder of a broken part, or keeps it under a name that the engine passes over. */
export async function closeBrokenPart({ path }: BrokenPart, keep: boolean): Promise<void> {
  if (!keep) return rm(path, { recursive: true, force: true })
  const folder = path.replace(/\/$/, '')
  // A table that was emptied uses the names of its parts again.
  const kept = `${basename(folder).replace(/^broken/, 'kept')}_${Date.now().toString(36)}`
  await rename(folder, join(dirname(folder), kept))
}

export interface CutPart {
  table: string
  name: string
  /** The parts that it was merged from are still there, and whole. */
  restorable: boolean
}

interface PartOnDisk {
  table: string
  name: string
  path: string
  bytes: number
}

/** The engine finds the codec out by itself when this file is empty or gone. */
const codec = 'default_compression_codec.txt'
/** Files that the sum of a part leaves out; all others are in `bytes_on_disk`. */
const needed = new Set(['checksums.txt', 'columns.txt', 'columns_substreams.txt', 'metadata_version.txt'])

/**
 * Compares the files of new parts with what the engine knows of them. On a disk that fills up engine 26.7 takes parts
 * into use whose files were cut off. The parts that they were merged from are kept for some minutes (embedded-engine.xml).
 */
export function createPartCheck(clickhouse: Clickhouse) {
  const whole = new Set<string>()

  /** The active parts that are not whole on the disk. A part that was whole once is not looked at again. */
  return async function findCutParts(): Promise<CutPart[]> {
    const parts = await clickhouse.query<PartOnDisk>(selectParts('active'))
    const active = new Set(parts.map(({ path }) => path))
    for (const path of whole) if (!active.has(path)) whole.delete(path)
    const cut: PartOnDisk[] = []
    for (const part of parts.filter(({ path }) => !whole.has(path))) {
      if (await isWhole(part)) whole.add(part.path)
      else cut.push(part)
    }
    if (cut.length === 0) return []
    // A part that was merged away and deleted meanwhile is not cut.
    const still = new Set((await clickhouse.query<PartOnDisk>(selectParts('active'))).map(({ path }) => path))
    const replaced: PartOnDisk[] = []
    for (const part of await clickhouse.query<PartOnDisk>(selectParts('NOT active')))
      if (cut.some(({ table }) => table === part.table) && (await isWhole(part))) replaced.push(part)
    const rangesOf = (table: string) =>
      replaced.filter((part) => part.table === table).flatMap(({ name }) => partRange(name) ?? [])
    return cut
      .filter(({ path }) => still.has(path))
      .map(({ table, name }) => ({ table, name, restorable: isCovered(partRange(name)!, rangesOf(table)) }))
  }
}

const selectParts = (which: string) => `
  SELECT table, name, path, bytes_on_disk AS bytes FROM system.parts WHERE database = currentDatabase() AND ${which}`

async function isWhole({ path, bytes }: PartOnDisk): Promise<boolean> {
  let sum = 0
  const names = await readdir(path).catch((): string[] => [])
  for (const name of names) {
    const found = await stat(join(path, name)).catch(() => null)
    if (found === null || found.isDirectory()) continue
    if (needed.has(name) && found.size === 0) return false
    if (!needed.has(name) && name !== codec) sum += found.size
  }
  return names.includes('checksums.txt') && sum === bytes
}

/**
 * Lets the engine read the table from the disk again: it puts broken parts aside and takes back those they were merged from.
 * Its files may be changed while it is away; statements that use it are waited for.
 */
export async function reloadTable(clickhouse: Clickhouse, table: string, whileAway = async () => {}): Promise<void> {
  const name = textLiteral(table)
  const [found] = await clickhouse.query<{ folder: string }>(
    `SELECT data_paths[1] AS folder FROM system.tables WHERE database = currentDatabase() AND name = ${name}`,
  )
  await clickhouse.command(`DETACH TABLE IF EXISTS ${table} SYNC`)
  let before: TableFolder | null = null
  try {
    await whileAway()
    // It is away already when it could not be attached before: what is put aside then counts as lost at the next start.
    before = found === undefined ? null : await readTableFolder(found.folder)
  } finally {
    await clickhouse.command(`ATTACH TABLE IF NOT EXISTS ${table}`)
  }
  const broken = (await findBrokenParts(clickhouse)).filter((part) => part.table === table)
  if (before !== null) await closeCovered(broken, before)
}
