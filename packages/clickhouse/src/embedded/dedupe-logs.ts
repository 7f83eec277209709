import { existsSync } from 'node:fs'
import { appendFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clickhouse } from '../clickhouse.ts'
import {
  closeCovered,
  findBrokenParts,
  readTableFolder,
  reloadTable,
  type TableFolder,
  tableFolderOf,
  wholeParts,
} from '../repair/broken-parts.ts'
import { brokenName, type PartRange, partRange } from '../repair/part-names.ts'

/** The folders of tables, by their UUID. */
export type TableFolders = ReadonlyMap<string, TableFolder>

const folders_file = 'parts-before-open.json'

/**
 * Forgets the tokens of inserts that a kill cut off at one certain point, in the files of an engine that is not running.
 *
 * A plain MergeTree writes the token of a block into its deduplication log first and gives the part its final name
 * second (seen with strace on 26.7). Killed in between, the rows are gone but the token is known, so the repetition
 * that should repair it would be ignored and its events lost. Such a token shows by its part: no part on disk has its
 * block numbers. Gives back how many were forgotten, and what lies in the folders.
 */
export async function forgetOrphanTokens(data_dir: string): Promise<{ forgotten: number; folders: TableFolders }> {
  const folders = new Map<string, TableFolder>()
  let forgotten = 0
  for (const path of await tablePaths(join(data_dir, 'store'))) {
    const folder = await readTableFolder(path)
    folders.set(basename(path), folder)
    const parts = wholeParts(folder, [])
    forgotten += await forgetTokens(path, (range) => !parts.some((part) => covers(part, range)))
  }
  return { forgotten, folders }
}

/**
 * Writes down what lies in the folders before the engine opens them, until `forgetBrokenTokens` is done. Gives back what the last opening
 * wrote down, if a kill ended it: that engine may have put parts aside and merged others. Nobody has written rows since.
 */
export async function keepFolders(data_dir: string, folders: TableFolders): Promise<TableFolders> {
  const file = join(data_dir, folders_file)
  try {
    return new Map(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    // There is none, or a kill cut it off before the engine opened.
    if (folders.size > 0) await writeFile(file, JSON.stringify([...folders]), { flush: true })
    return folders
  }
}

/**
 * The same for blocks whose part the engine put aside when it opened, because it was cut off: until then its name is that
 * of a good part. `before` is what lay in the folders until then. Nobody may write meanwhile. Gives back how many were forgotten, and
 * how many parts were deleted because others hold their rows.
 */
export async function forgetBrokenTokens(clickhouse: Clickhouse, data_dir: string, before: TableFolders) {
  await loadMergedParts(clickhouse, before)
  const broken = Map.groupBy(await findBrokenParts(clickhouse), ({ table }) => table)
  let forgotten = 0
  let covered = 0
  for (const [table, parts] of broken) {
    const path = tableFolderOf(parts[0]!)
    const folder = before.get(basename(path))
    if (folder === undefined) continue
    const lost = (await closeCovered(parts, folder)).flatMap(({ name }) => partRange(brokenName(name)) ?? [])
    covered += parts.length - lost.length
    if (lost.length === 0) continue
    const whole = wholeParts(folder, parts)
    const isGone = (range: PartRange) =>
      lost.some((part) => covers(part, range)) && !whole.some((part) => covers(part, range))
    await reloadTable(clickhouse, table, async () => {
      forgotten += await forgetTokens(path, isGone)
    })
  }
  await rm(join(data_dir, folders_file), { force: true })
  return { forgotten, covered }
}

/** The engine loads parts that were merged into others in the background, and puts broken ones aside only then. */
async function loadMergedParts(clickhouse: Clickhouse, before: TableFolders): Promise<void> {
  const merged = [...before].filter(([, { parts }]) => {
    const ranges = parts.flatMap((name) => partRange(name) ?? [])
    return ranges.some((range) => ranges.some((other) => other !== range && covers(other, range)))
  })
  if (merged.length === 0) return
  const uuids = new Set(merged.map(([uuid]) => uuid))
  const tables = await clickhouse.query<{ name: string; uuid: string }>(
    'SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = currentDatabase()',
  )
  for (const { name } of tables.filter(({ uuid }) => uuids.has(uuid)))
    await clickhouse.command(`SYSTEM WAIT LOADING PARTS ${name}`)
}

async function tablePaths(store: string): Promise<string[]> {
  if (!existsSync(store)) return []
  const groups = (await readdir(store, { withFileTypes: true })).filter((one) => one.isDirectory())
  const paths = await Promise.all(
    groups.map(async ({ name }) => (await namesIn(join(store, name))).map((uuid) => join(store, name, uuid))),
  )
  return paths.flat().filter((path) => existsSync(join(path, 'detached')))
}

async function forgetTokens(path: string, isGone: (range: PartRange) => boolean): Promise<number> {
  const folder = join(path, 'deduplication_logs')
  const logs = (await namesIn(folder)).toSorted((a, b) => logNumber(a) - logNumber(b)).map((file) => join(folder, file))
  const newest = logs.at(-1)
  if (newest === undefined) return 0
  const known = new Map<string, string>()
  for (const log of logs) {
    for (const line of await readLines(log)) {
      const [operation, part, token] = line.split('\t')
      if (operation === '1' && part !== undefined && token !== undefined) known.set(token, part)
      else if (token !== undefined) known.delete(token)
    }
  }
  const gone = [...known].filter(([, name]) => {
    const range = partRange(name)
    return range !== null && isGone(range)
  })
  const lines = gone.map(([token, part]) => `2\t${part}\t${token}\n`).join('')
  if (lines !== '') await appendFile(newest, lines, { flush: true })
  return gone.length
}

/** A folder that is not there has no names. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

const logNumber = (file: string): number => Number(/(\d+)\.txt$/.exec(file)?.[1] ?? 0)

/** Whole lines; what a kill left of a last one is cut off, or the next record would be glued to it. */
async function readLines(log: string): Promise<string[]> {
  const text = await readFile(log, 'utf8')
  const end = text.lastIndexOf('\n') + 1
  if (end < text.length) await truncate(log, Buffer.byteLength(text.slice(0, end)))
  return text.slice(0, end).split('\n').slice(0, -1)
}

const covers = (part: PartRange, range: PartRange): boolean =>
  part.partition === range.partition && part.first <= range.first && part.last >= range.last
