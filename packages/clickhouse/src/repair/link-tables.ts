import { link, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { settledTables, sweptFrom } from '@tributary/contracts/tables'
import { partRange } from './part-names.ts'

/**
 * Links the parts of a running embedded engine into `to`, below the same names: those of `events_raw_v1`, and of every table
 * that `repairTables` could not fill from it. Once raw events have expired, these are all tables but the settled ones. A part
 * never changes, and one that was merged stays for minutes, so the links of a table are the table of one moment.
 */
export async function linkTables(data_dir: string, to: string): Promise<void> {
  const tables = new Map<string, string>()
  const filled = new Set([...Object.keys(sweptFrom), ...settledTables])
  const definitions = join(data_dir, 'metadata', 'tributary')
  for (const file of await readdir(definitions)) {
    const text = await readFile(join(definitions, file), 'utf8')
    const [, uuid] = /^ATTACH TABLE _ UUID '([0-9a-f-]{36})'/.exec(text) ?? []
    const [, target] = /^ATTACH MATERIALIZED VIEW .* TO (?:tributary\.)?(\w+)/.exec(text) ?? []
    if (uuid !== undefined) tables.set(file.replace(/\.sql$/, ''), join('store', uuid.slice(0, 3), uuid))
    if (target !== undefined) filled.add(target)
  }
  const expired = tables.get('raw_expired_v1')
  const isRefilled =
    expired !== undefined && (await hasParts(join(data_dir, expired)))
      ? (table: string) => settledTables.includes(table)
      : (table: string) => filled.has(table)
  for (const [table, folder] of tables)
    if (!isRefilled(table)) await linkTable(join(data_dir, folder), join(to, folder))
}

/** One that is in use or was merged into one that is. */
const isPart = (name: string): boolean => partRange(name) !== null

const hasParts = async (folder: string): Promise<boolean> => (await readdir(folder)).some(isPart)

async function linkTable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of (await readdir(from)).filter(isPart)) {
    try {
      await linkFolder(join(from, name), join(to, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      // It was merged minutes ago and deleted now: the part that it was merged into is among the names.
      await rm(join(to, name), { recursive: true, force: true })
    }
  }
}

async function linkFolder(from: string, to: string): Promise<void> {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? linkFolder(source, target) : link(source, target))
  }
}

/** True for a path in an engine's folder that belongs to the data of its tables rather than to their definitions. */
export const isTableData = (path: string): boolean => {
  const [top, , , name] = path.split('/')
  const data = name !== undefined && !/\.(?:sql|txt)$/.test(name)
  return top === 'tmp' || (top === 'store' && data)
}
