import { type Family, families } from '../address.ts'
import type { TableKind } from '../geo.ts'
import { coverage, type RangeTable, toTable } from '../range-table.ts'
import { packaged, readTable, writeTable } from '../table-file.ts'
import { readRanges } from './read-ranges.ts'
import { BadGeoFile } from './source.ts'

export interface UpdatedTable {
  kind: TableKind
  family: Family
  /** Ranges of the file that the table holds. */
  ranges: number
}

/** A new table may know this part of what the one before knew; less is more likely a broken download. */
const kept_part_min = 0.5

/**
 * Reads a newer database (see `readRanges`) and puts what it tells into the folder of the services, which take it up
 * within a minute. What the file does not tell stays: the other kind, the other family. Throws `BadGeoFile`, and
 * has then changed nothing; `even_if_smaller` allows a table that knows far less than the one before.
 */
export async function updateGeo(file: string, folder: string, even_if_smaller = false): Promise<UpdatedTable[]> {
  const { kind, ranges: known } = readRanges(file)
  const tables = families.flatMap((family) => {
    const found = known.get(family)
    return found === undefined ? [] : [{ family, ranges: found.length, table: toTable(family, found) }]
  })
  if (tables.length === 0) throw new BadGeoFile('It names no hosting network.')
  for (const { family, table } of tables) if (!even_if_smaller) await requireCoverage(folder, kind, family, table)
  for (const { family, table } of tables) writeTable(folder, kind, family, table)
  return tables.map(({ family, ranges }) => ({ kind, family, ranges }))
}

async function requireCoverage(folder: string, kind: TableKind, family: Family, table: RangeTable): Promise<void> {
  const before = await readTable(folder, kind, family).catch(() => readTable(packaged, kind, family))
  const part = coverage(table) / coverage(before)
  if (part >= kept_part_min) return
  const percent = Math.round(part * 100)
  throw new BadGeoFile(
    `Of the IPv${family} addresses that the ${kind} in use know, it knows ${percent} %: is it whole? --even-if-smaller takes it as it is.`,
  )
}
