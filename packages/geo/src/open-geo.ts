import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Family, families, isPublic, numberAddress } from './address.ts'
import type { AddressFacts, Geo } from './geo.ts'
import { type RangeTable, valueAt } from './range-table.ts'
import { fileOf, kinds, packaged, readTable, type TableKind } from './table-file.ts'

export interface OpenedGeo extends Geo {
  /** Takes up tables of the folder that are newer; rejects for a damaged one, and goes on with the tables before. */
  reload(): Promise<void>
}

const unknown: AddressFacts = { country: null, datacenter: false }

/**
 * Tables in memory (5 MB): those of the folder where there are any, else those that come with this version. Private
 * addresses have no country and no datacenter. Rejects when a table is damaged.
 */
export async function openGeo(folder?: string): Promise<OpenedGeo> {
  const tables = new Map<string, Loaded>()
  const reload = async () => {
    for (const kind of kinds) for (const family of families) await load(tables, kind, family, folder)
  }
  await reload()
  const tableOf = (kind: TableKind, family: Family): RangeTable => tables.get(fileOf(kind, family))!.table
  return {
    reload,
    lookUp(ip) {
      const address = numberAddress(ip)
      if (address === null || !isPublic(address)) return unknown
      const { family, number } = address
      const country = valueAt(tableOf('countries', family), number)
      return {
        country: country === 0 ? null : String.fromCharCode(country >> 8, country & 255),
        datacenter: valueAt(tableOf('datacenters', family), number) !== 0,
      }
    },
  }
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
