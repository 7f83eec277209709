import type { SharedGeo } from '@tributary/geo/geo'

const none = { starts: new Uint32Array(), values: new Uint16Array() }
const nowhere = { 4: none, 6: none }

/** Tables of addresses that know no address. */
export const noGeo: SharedGeo = {
  lookUp: () => ({ country: null, datacenter: false }),
  tables: () => ({ countries: nowhere, datacenters: nowhere }),
}
