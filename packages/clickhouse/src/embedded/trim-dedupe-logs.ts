import { appendFile, readdir, readFile, truncate } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clickhouse } from '../clickhouse.ts'
import { findBrokenParts, reloadTable } from '../repair/broken-parts.ts'

/**
 * Forgets the tokens of inserts that a kill cut off at one certain point, in the files of an engine that is not running.
 *
 * A plain MergeTree writes the token of a block into its deduplication log first and gives the part its final name
 * second (seen with strace on 26.7). Killed in between, the rows are gone but the token is known, so the repetition
 * that should repair it would be ignored and its events lost. Such a token shows by its part: no part on disk has its
 * block numbers. Gives back how many were forgotten.
 */
export async function trimDedupeLogs(data_dir: string): Promise<number> {
  const entries = await readdir(join(data_dir, 'store'), { recursive: true }).catch(() => [])
  const folders = entries.filter((path) => basename(path) === 'deduplication_logs')
  let forgotten = 0
  for (const folder of folders) forgotten += await trimTable(join(data_dir, 'store', folder))
  return forgotten
}

/**
 * The same for blocks whose part the engine put aside when it opened, because it was cut off: until then its name is that
 * of a good part. Nobody may write meanwhile.
 */
export async function forgetBrokenBlocks(clickhouse: Clickhouse): Promise<number> {
  const broken = await findBrokenParts(clickhouse)
  // `<table>/detached/<part>/`
  const folders = new Map(broken.map(({ table, path }) => [table, dirname(dirname(path))]))
  let forgotten = 0
  for (const [table, folder] of folders) {
    await reloadTable(clickhouse, table, async () => {
      forgotten += await trimTable(join(folder, 'deduplication_logs'))
    })
  }
  return forgotten
}

async function trimTable(folder: string): Promise<number> {
  const files = await readdir(folder).catch(() => [])
  const logs = files.toSorted((a, b) => logNumber(a) - logNumber(b)).map((file) => join(folder, file))
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
  const parts = (await readdir(dirname(folder))).flatMap((name) => partRange(name) ?? [])
  const orphans = [...known].filter(([, name]) => {
    const range = partRange(name)
    return range !== null && !parts.some((part) => covers(part, range))
  })
  const lines = orphans.map(([token, part]) => `2\t${part}\t${token}\n`).join('')
  if (lines !== '') await appendFile(newest, lines, { flush: true })
  return orphans.length
}

const logNumber = (file: string): number => Number(/(\d+)\.txt$/.exec(file)?.[1] ?? 0)

/** Whole lines; what a kill left of a last one is cut off, or the next record would be glued to it. */
async function readLines(log: string): Promise<string[]> {
  const text = await readFile(log, 'utf8')
  const end = text.lastIndexOf('\n') + 1
  if (end < text.length) await truncate(log, Buffer.byteLength(text.slice(0, end)))
  return text.slice(0, end).split('\n').slice(0, -1)
}

interface PartRange {
  partition: string
  first: number
  last: number
}

/** `<partition>_<first block>_<last block>_<level>[_<mutation>]`; null for folders that are no finished part. */
function partRange(name: string): PartRange | null {
  const [, partition, first, last] = /^([^_]+)_(\d+)_(\d+)_\d+(?:_\d+)?$/.exec(name) ?? []
  return partition === undefined ? null : { partition, first: Number(first), last: Number(last) }
}

const covers = (part: PartRange, range: PartRange): boolean =>
  part.partition === range.partition && part.first <= range.first && part.last >= range.last
