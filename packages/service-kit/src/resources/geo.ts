import type { SharedGeo } from '@tributary/geo/geo'
import { openGeo } from '@tributary/geo/open-geo'
import { every } from '../service/every.ts'
import { StartRefused } from '../settings/start-refused.ts'
import type { Resource } from './resource.ts'

/** How long a newer table may wait to be taken up. */
const reload_pause_ms = 60_000

/**
 * Country and kind of network of addresses, from the folder of `TRIBUTARY_GEO_DIR`, else from `default_folder`, else as they
 * come with this version. Newer tables are taken up without a restart.
 */
export const geoResource = (default_folder?: string): Resource<SharedGeo, 'TRIBUTARY_GEO_DIR'> => ({
  settings: ['TRIBUTARY_GEO_DIR'],
  required: [],
  async open(config, { logger, registry, onClose }) {
    const geo = await openGeo(config.TRIBUTARY_GEO_DIR ?? default_folder).catch((cause: Error) => {
      throw new StartRefused(`${cause.message} Remove it, or run: npx tributary geo update FILE`, { cause })
    })
    const reloading = every({ name: 'geo_reload', pause_ms: reload_pause_ms, logger, registry, work: geo.reload })
    onClose('geo', () => reloading.close())
    return geo
  },
})
