import { createHash } from 'node:crypto'
import { type AttributionSettings, defaultAttributionSettings } from '@tributary/contracts/attribution/settings'
import type { AppWithSecrets, AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'

/** An app of a test; what is left out has a default. `settings` may depend on when an install was received. */
export interface GivenAttributionApp
  extends Partial<
    Pick<AppWithSecrets, 'company_id' | 'platform' | 'link_secret' | 'salt' | 'clicks_deleted_before_ms'>
  > {
  app_id: string
  settings?: Partial<AttributionSettings> | ((received_at_ms: number) => Partial<AttributionSettings>)
}

export interface MemoryAttributionApps extends AttributionApps<AppWithSecrets> {
  add(app: GivenAttributionApp): void
  /** When set, every call rejects with it. */
  fault: Error | null
}

/** Apps of attribution in memory. The apps of a company are those that were added with its id. */
export function memoryAttributionApps(given: Iterable<GivenAttributionApp> = []): MemoryAttributionApps {
  const apps = new Map<string, AppWithSecrets>()
  const store: MemoryAttributionApps = {
    fault: null,
    add(app) {
      apps.set(app.app_id, attributionApp(app, apps))
    },
    async find(app_id) {
      if (store.fault) throw store.fault
      return apps.get(app_id) ?? null
    },
    close: async () => {},
  }
  for (const app of given) store.add(app)
  return store
}

function attributionApp(given: GivenAttributionApp, all: ReadonlyMap<string, AppWithSecrets>): AppWithSecrets {
  const { app_id, company_id = 'co_1', platform = 'android', settings = {}, clicks_deleted_before_ms = 0 } = given
  const { link_secret = secretOf(`link/${app_id}`), salt = secretOf(`salt/${company_id}`) } = given
  return {
    ...{ app_id, company_id, platform, link_secret, salt, clicks_deleted_before_ms },
    get company_apps() {
      return [...all.values()].filter((app) => app.company_id === company_id).map((app) => app.app_id)
    },
    settingsAt(received_at_ms) {
      return {
        ...defaultAttributionSettings(platform),
        ...(typeof settings === 'function' ? settings(received_at_ms) : settings),
      }
    },
  }
}

const secretOf = (name: string): Buffer => createHash('sha256').update(name).digest()
