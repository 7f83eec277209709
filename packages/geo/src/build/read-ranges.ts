import { readFileSync } from 'node:fs'
import type { Family } from '../address.ts'
import type { TableKind } from '../geo.ts'
import type { Range } from '../range-table.ts'
import { readCsv } from './read-csv.ts'
import { isMmdb, readMmdb } from './read-mmdb.ts'
import { BadGeoFile } from './source.ts'

/** The ranges of a database that we keep. */
export interface SourceTable {
  kind: TableKind
  ranges: Map<Family, Range[]>
}

/**
 * Networks that hold egress addresses of iCloud Private Relay: Cloudflare, Fastly and Akamai. People sit behind them, so
 * they are no datacenters (docs/decisions/attribution.md#addresses-are-looked-up-in-our-own-tables). Sources: Sattler and others, "Towards
 * a Tectonic Traffic Shift?", IMC 2022, and Apple's "Prepare your network or web server for iCloud Private Relay".
 */
export const relayAsns: readonly number[] = [13335, 54113, 36183, 20940]

/** The numbers of `data/hosting-asns.csv`, which names its source. */
export function hostingAsns(): Set<number> {
  const lines = readFileSync(new URL('../../data/hosting-asns.csv', import.meta.url), 'utf8').split('\n')
  const numbers = lines.filter((line) => /^\d/.test(line)).map((line) => Number(line.split(',', 1)[0]))
  return new Set(numbers.filter((asn) => !relayAsns.includes(asn)))
}

/**
 * Reads a database of countries or of networks: CSV (`first,last,DE` or `first,last,64500,name`, addresses as text or as
 * numbers) or MMDB (of ip-location-db, DB-IP, MaxMind). Throws `BadGeoFile`.
 */
export function readRanges(file: string): SourceTable {
  const bytes = readFileSync(file)
  const hosting = hostingAsns()
  const ranges = new Map<Family, Range[]>()
  const seen = new Set<TableKind>()
  for (const { family, first, last, found } of isMmdb(bytes) ? readMmdb(bytes) : readCsv(bytes)) {
    seen.add('country' in found ? 'countries' : 'datacenters')
    const list = ranges.get(family) ?? []
    ranges.set(family, list)
    const value = 'country' in found ? countryValue(found.country) : Number(hosting.has(found.asn))
    if (value !== 0) list.push({ first, last, value })
  }
  const [kind, other] = seen
  if (kind === undefined) throw new BadGeoFile('It holds no ranges of addresses.')
  if (other !== undefined) throw new BadGeoFile('It holds countries and networks; give one file of each.')
  return { kind, ranges }
}

/** The two letters of a country as a number. */
const countryValue = (code: string): number => code.charCodeAt(0) * 256 + code.charCodeAt(1)
