import type { Resource } from '@tributary/service-kit/resources/resource'
import type { Pool } from 'pg'
import type { AppWithSecrets, AttributionApps } from './attribution/attribution-apps.ts'
import { openAppsWithSecrets, openAttributionApps } from './attribution/attribution-apps-cache.ts'
import type { Links } from './attribution/links.ts'
import { openLinks } from './attribution/links-cache.ts'
import type { Credentials } from './credentials/credentials.ts'
import { openCredentials } from './credentials/credentials-cache.ts'
import type { KeptLookupsOptions } from './credentials/kept-lookups.ts'
import type { CvSchemas, LiveSchemas } from './postbacks/cv-schemas.ts'
import { openCvSchemas, openLiveSchemas } from './postbacks/cv-schemas-cache.ts'
import type { StoreApps } from './postbacks/store-apps.ts'
import { openStoreApps } from './postbacks/store-apps-cache.ts'
import type { MasterKeys } from './secrets/master-keys.ts'
import { requireMasterKey } from './secrets/require-master-key.ts'
import { watchSecrets } from './secrets/unreadable-secrets.ts'
import { type NotifiedApps, openNotifiedApps } from './stores/notified-apps.ts'

/** The master keys of the settings, fit for the secrets in PostgreSQL, which are watched from then on. */
export const masterKeysResource: Resource<
  MasterKeys,
  'TRIBUTARY_MASTER_KEY_OLD',
  'TRIBUTARY_MASTER_KEY',
  { postgres: Pool }
> = {
  settings: ['TRIBUTARY_MASTER_KEY_OLD'],
  required: ['TRIBUTARY_MASTER_KEY'],
  on: ['postgres'],
  async open(config, service, { postgres }) {
    const masterKeys = await requireMasterKey(postgres, config)
    watchSecrets(postgres, masterKeys, service)
    return masterKeys
  },
}

/** Credentials over PostgreSQL. Only a service with master keys can look up apps: they have signing secrets. */
export const credentialsResource: Resource<Credentials, never, never, { postgres: Pool; masterKeys?: MasterKeys }> = {
  settings: [],
  required: [],
  on: ['postgres', 'masterKeys'],
  async open(_config, { elapsed, logger, registry, onClose }, { postgres: pool, ...secrets }) {
    const credentials = await openCredentials({ pool, ...secrets, now: elapsed, logger, registry })
    onClose('credentials', () => credentials.close())
    return credentials
  },
}

type Secrets = { postgres: Pool; masterKeys: MasterKeys }

/** Apps for attribution with their secrets. */
export const appsWithSecretsResource: Resource<AttributionApps<AppWithSecrets>, never, never, Secrets> = {
  settings: [],
  required: [],
  on: ['postgres', 'masterKeys'],
  async open(_config, { elapsed, logger, registry, onClose }, { postgres: pool, masterKeys }) {
    const apps = await openAppsWithSecrets({ pool, masterKeys, now: elapsed, logger, registry })
    onClose('apps with secrets', () => apps.close())
    return apps
  },
}

/** Tracking links over PostgreSQL. */
export const linksResource: Resource<Links, never, never, Secrets> = {
  settings: [],
  required: [],
  on: ['postgres', 'masterKeys'],
  async open(_config, { elapsed, logger, registry, onClose }, { postgres: pool, masterKeys }) {
    const links = await openLinks({ pool, masterKeys, now: elapsed, logger, registry })
    onClose('links', () => links.close())
    return links
  },
}

/** Look-ups over PostgreSQL that need no secret. */
const keptResource = <T extends { close(): Promise<void> }>(
  name: string,
  open: (options: KeptLookupsOptions) => Promise<T>,
): Resource<T, never, never, { postgres: Pool }> => ({
  settings: [],
  required: [],
  on: ['postgres'],
  async open(_config, { elapsed, logger, registry, onClose }, { postgres: pool }) {
    const opened = await open({ pool, now: elapsed, logger, registry })
    onClose(name, () => opened.close())
    return opened
  },
})

/** Apps for attribution, without their secrets: one that can't be decrypted stops nobody here. */
export const attributionAppsResource = keptResource<AttributionApps>('attribution apps', openAttributionApps)

/** The newest conversion value schemas. */
export const liveSchemasResource = keptResource<LiveSchemas>('live schemas', openLiveSchemas)

/** All versions of conversion value schemas. */
export const cvSchemasResource = keptResource<CvSchemas>('conversion value schemas', openCvSchemas)

/** Apps with their store ids. */
export const storeAppsResource = keptResource<StoreApps>('store apps', openStoreApps)

/** Apps by app key, with what notifications of stores must name. */
export const notifiedAppsResource = keptResource<NotifiedApps>('notified apps', openNotifiedApps)
