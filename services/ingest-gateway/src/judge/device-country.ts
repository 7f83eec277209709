import { normalAddress } from '@tributary/contracts/networks'
import { isJsonObject } from '@tributary/domain/accept/accept-event'
import { type GeoTables, lookUpIn } from '@tributary/geo/geo'

/**
 * Makes the function that gives the country of an event of a backend: that of its `device.ip`, since the sender is no person's
 * device; empty when unknown. It looks up each address of a request once.
 */
export function createDeviceCountry(tables: GeoTables): (event: Record<string, unknown>) => string {
  const known = new Map<string, string>()
  return ({ device }) => {
    const ip = isJsonObject(device) ? device.ip : null
    if (typeof ip !== 'string' || ip.length > address_chars_max) return ''
    const country = known.get(ip) ?? countryOf(tables, ip)
    known.set(ip, country)
    return country
  }
}

/** Longer than any address with its zone. */
const address_chars_max = 128

const countryOf = (tables: GeoTables, ip: string): string => {
  const address = normalAddress(ip)
  return (address === null ? null : lookUpIn(tables, address).country) ?? ''
}

/** The member of an audit object; none for an unknown country. */
export const knownCountry = (country: string | undefined): { country?: string } => (country ? { country } : {})
