import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Family, families } from './address.ts'
import { type GeoTables, kinds, lookUpIn, type SharedGeo, type TableKind } from './geo.ts'
import type { RangeTable } from './range-table.ts'
import { fileOf, packaged, readTable } from './table-file.ts'

export interface OpenedGeo extends SharedGeo {
  /** Takes up tables of the folder that are newer; rejects for a damaged one, and goes on with the tables before. */
  reload(): Promise<void>
}

/**
 * Tables in memory (5 MB): those of the folder where there are any, else those that come with this version. Rejects when a
 * table is damaged.
 */
export async function openGeo(folder?: string): Promise<OpenedGeo> {
  const loaded = new Map<string, Loaded>()
  const tableOf = (kind: TableKind, family: Family): RangeTable => loaded.get(fileOf(kind, family))!.table
  const familiesOf = (kind: TableKind) => ({ 4: tableOf(kind, 4), 6: tableOf(kind, 6) })
  let tables: GeoTables | null = null
  const reload = async () => {
    for (const kind of kinds) for (const family of families) await load(loaded, kind, family, folder)
    tables = { countries: familiesOf('countries'), datacenters: familiesOf('datacenters') }
  }
  await reload()
  return { reload, tables: () => tables!, lookUp: (ip) => lookUpIn(tables!, ip) }
}

interface Loaded {
  table: RangeTable
  /** Time of the file in the folder; null for the packaged table. */
  changed_ms: number | null
}

async function load(tables: Map<string, Loaded>, kind: TableKind, family: Family, folder: string | undefined) {
  const name = fileOf(kind, family)
  const changed_ms = folder === undefined ? null : await changeTime(join(folder, name))
  if (tables.get(name)?.changed_ms === changed_ms) return
  const source = changed_ms === null ? packaged : folder!
  const table = await readTable(source, kind, family).catch((cause: Error) => {
    throw new Error(`The table of addresses ${name} can't be read: ${cause.message}.`, { cause })
  })
  tables.set(name, { table, changed_ms })
}

const changeTime = (file: string): Promise<number | null> =>
  stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    },
  )
