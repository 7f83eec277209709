import { openGeo } from '@tributary/geo/open-geo'
import { countries } from './market.ts'
import type { Random } from './random.ts'

/** Addresses that people of a country have, and some of data centers. */
export interface Addresses {
  of(country: string): string
  ofDatacenter(): string
}

const each = 400

/** Draws addresses until each country has some. */
export async function drawAddresses(random: Random): Promise<Addresses> {
  const geo = await openGeo()
  const found = new Map<string, string[]>(countries.map(({ country }) => [country, []]))
  const datacenters: string[] = []
  const byte = () => Math.floor(random.share() * 256)
  for (let tries = 0; tries < 2_000_000; tries += 1) {
    const ip = [1 + Math.floor(random.share() * 222), byte(), byte(), 1 + Math.floor(random.share() * 254)].join('.')
    const { country, datacenter } = geo.lookUp(ip)
    if (datacenter && datacenters.length < each) datacenters.push(ip)
    const own = datacenter || country === null ? undefined : found.get(country)
    if (own !== undefined && own.length < each) own.push(ip)
    if (tries % 10_000 === 0 && [...found.values()].every(({ length }) => length === each)) break
  }
  const any = [...found.values()].flat()
  const oneOf = (own: readonly string[] = []) => random.oneOf(own.length > 0 ? own : any)
  return { of: (country) => oneOf(found.get(country)), ofDatacenter: () => oneOf(datacenters) }
}
