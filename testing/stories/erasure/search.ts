import { type Dirent, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Pool } from 'pg'

/** Texts that stand for a person, or for several, by what they are. */
export type Needles = Record<string, string | readonly string[]>

/** Places of a search that docs/privacy.md#erasure names. */
export const named = {
  log: /^\w+ in log: /,
  requests: /^install in log: erasures\.requested\.v1/,
  offsets: /^(install|click) in log: __consumer_offsets-/,
  proof: /^install in audit: app_\w+\/privacy\//,
  lost_clicks: /^(sub|click|device_hash) in installs_v1\.decision$/,
  raw_copies: /^(install|click) in postgres raw_erasures$/,
  mutations: /^install_key in system\.mutations$/,
  postgres_files: /^(install|click|sub) in postgres: /,
}

/** `what in place` for every needle that a text holds. */
export const found = (place: string, text: string, needles: Needles): string[] =>
  Object.entries(needles).flatMap(([what, some]) =>
    [some].flat().some((needle) => text.includes(needle)) ? [`${what} in ${place}`] : [],
  )

/** Every column of every table, the newest verdicts, statements that the engine keeps, and the files of parts. */
export async function searchClickhouse(clickhouse: Pick<Clickhouse, 'query'>, needles: Needles): Promise<string[]> {
  const columns = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase()
     AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')`,
  )
  const hits: string[] = []
  for (const { table, name } of columns) {
    const rows = await clickhouse.query<{ text: string }>(`SELECT DISTINCT toString(\`${name}\`) AS text FROM ${table}`)
    hits.push(...found(`${table}.${name}`, rows.map(({ text }) => text).join('\n'), needles))
  }
  // A verdict that another one has replaced keeps the clicks of its time, and the newest does not.
  const newest = await clickhouse.query(
    `SELECT argMax(decision, (topic, offset)) FROM installs_v1 WHERE sign = 1 GROUP BY app_id, install_uuid`,
  )
  hits.push(...found('newest verdicts', JSON.stringify(newest), needles))
  const mutations = await clickhouse.query('SELECT command FROM system.mutations')
  const parts = await clickhouse.query<{ path: string }>(
    'SELECT path FROM system.parts WHERE active AND database = currentDatabase()',
  )
  for (const { path } of parts) hits.push(...searchFiles(path, needles, () => `parts of ${path}`))
  return [...hits, ...found('system.mutations', JSON.stringify(mutations), needles)]
}

/** Every row of every table. */
export async function searchPostgres(pool: Pool, needles: Needles): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  )
  const hits: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} AS t`)
    hits.push(...found(`postgres ${name}`, rows.map(({ text }) => text).join('\n'), needles))
  }
  return hits
}

/** Names and bytes of all files below a folder whose names end so; zipped ones are read as what they inflate to. */
export function searchFiles(dir: string, needles: Needles, placeOf: (name: string) => string, ending = ''): string[] {
  return entriesBelow(dir).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    const name = relative(dir, path)
    if (!name.endsWith(ending)) return []
    const bytes = (entry.isFile() && whileThere(() => readFileSync(path))) || Buffer.alloc(0)
    return found(placeOf(name), `${name}\n${inflated(bytes).toString('latin1')}`, needles)
  })
}

/** Everything below a folder. A running server removes parts meanwhile: what is gone holds nothing. */
function entriesBelow(dir: string): Dirent[] {
  const entries = whileThere(() => readdirSync(dir, { withFileTypes: true })) ?? []
  return entries.flatMap((entry) => [entry, ...(entry.isDirectory() ? entriesBelow(join(dir, entry.name)) : [])])
}

function whileThere<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The inflated bytes, or the bytes themselves when they are no gzip. */
export const inflated = (bytes: Buffer): Buffer => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes)
