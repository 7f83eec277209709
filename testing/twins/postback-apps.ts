import type { CvVersion } from '@tributary/contracts/postback/cv-schema'
import type { CvSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import type { StoreApp, StoreApps } from '@tributary/tenancy/postbacks/store-apps'

export interface MemoryStoreApps extends StoreApps {
  /** Adds an app, or changes it. What is left out has a default: no store id, no development keys. */
  add(app: Partial<StoreApp> & { app_id: string }): void
}

/** Apps with store ids in memory. */
export function memoryStoreApps(): MemoryStoreApps {
  const apps = new Map<string, StoreApp>()
  return {
    add: (app) => void apps.set(app.app_id, { company_id: 'co_1', store_id: null, development_keys: false, ...app }),
    find: async (app_id) => apps.get(app_id) ?? null,
    findOwner: async (store_id) => [...apps.values()].find((app) => app.store_id === store_id) ?? null,
    close: async () => {},
  }
}

export interface MemoryCvSchemas extends CvSchemas {
  publish(
    app_id: string,
    version: Pick<CvVersion, 'published_at_ms'> & { postbacks: CvVersion['schema']['postbacks'] },
  ): void
}

/** Conversion value schemas in memory; the versions of an app are numbered from 1. */
export function memoryCvSchemas(): MemoryCvSchemas {
  const schemas = new Map<string, CvVersion[]>()
  return {
    publish(app_id, { published_at_ms, postbacks }) {
      const versions = schemas.get(app_id) ?? []
      const version = versions.length + 1
      schemas.set(app_id, [...versions, { version, published_at_ms, schema: { version, postbacks } }])
    },
    find: async (app_id) => schemas.get(app_id) ?? [],
    close: async () => {},
  }
}

/** For report APIs that no postback reaches. */
export const noPostbacks = (): { storeApps: StoreApps; cvSchemas: CvSchemas } => ({
  storeApps: memoryStoreApps(),
  cvSchemas: memoryCvSchemas(),
})
