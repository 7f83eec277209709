import type { CvVersion } from '@tributary/contracts/postback/cv-schema'
import type { CvSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import type { StoreApp, StoreApps } from '@tributary/tenancy/postbacks/store-apps'

export interface MemoryStoreApps extends StoreApps {
  /** Adds an app, or changes it. What is left out has a default: no store id, and settings that are off. */
  add(app: Partial<StoreApp> & { app_id: string }): void
}

/** Apps with store ids in memory. */
export function memoryStoreApps(): MemoryStoreApps {
  const apps = new Map<string, StoreApp>()
  const settings = { company_id: 'co_1', store_id: null, development_keys: false, valid_receipts_only: false }
  return {
    add: (app) => void apps.set(app.app_id, { ...settings, ...app }),
    find: async (app_id) => apps.get(app_id) ?? null,
    findOwner: async (store_id) => [...apps.values()].find((app) => app.store_id === store_id) ?? null,
    ownedItems: async () => [...apps.values()].flatMap(({ store_id }) => store_id ?? []),
    close: async () => {},
  }
}

export interface MemoryCvSchemas extends CvSchemas {
  /** Adds a version, which is newer than those before it. */
  add(app_id: string, version: CvVersion): void
}

/** Conversion value schemas in memory. */
export function memoryCvSchemas(): MemoryCvSchemas {
  const schemas = new Map<string, CvVersion[]>()
  return {
    add: (app_id, version) => void schemas.set(app_id, [...(schemas.get(app_id) ?? []), version]),
    find: async (app_id) => schemas.get(app_id) ?? [],
    close: async () => {},
  }
}

/** Apps of report APIs that no postback reaches. */
export const noPostbacks = (): { storeApps: StoreApps; cvSchemas: CvSchemas } => ({
  storeApps: memoryStoreApps(),
  cvSchemas: memoryCvSchemas(),
})
