import { type Family, isPublic, numberAddress } from './address.ts'
import { type RangeTable, valueAt } from './range-table.ts'

/** What is known of an address. */
export interface AddressFacts {
  /** ISO 3166-1 alpha-2; null when unknown. */
  country: string | null
  /** It belongs to a network of a hosting provider: a person rarely sits there. Private relays are none. */
  datacenter: boolean
}

/** Country and kind of network of addresses, from databases in memory. */
export interface Geo {
  lookUp(ip: string): AddressFacts
}

/** The same, for threads too. */
export interface SharedGeo extends Geo {
  /** The tables of now, for `lookUpIn`. A message to a thread shares their memory. */
  tables(): GeoTables
}

/** Tables give the country of an address, or tell that its network is a hosting provider's. */
export const kinds = ['countries', 'datacenters'] as const
export type TableKind = (typeof kinds)[number]

export type GeoTables = Record<TableKind, Record<Family, RangeTable>>

const unknown: AddressFacts = { country: null, datacenter: false }

/** Private addresses have no country and no datacenter. */
export function lookUpIn({ countries, datacenters }: GeoTables, ip: string): AddressFacts {
  const address = numberAddress(ip)
  if (address === null || !isPublic(address)) return unknown
  const { family, number } = address
  const country = valueAt(countries[family], number)
  return {
    country: country === 0 ? null : String.fromCharCode(country >> 8, country & 255),
    datacenter: valueAt(datacenters[family], number) !== 0,
  }
}
