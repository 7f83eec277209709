import type { AttributionSettings } from '@tributary/contracts/attribution/settings'
import type { Platform } from '@tributary/contracts/envelope'

export type { AttributionSettings }

/** An app as the attribution of its installs needs it. */
export interface AttributionApp {
  app_id: string
  company_id: string
  platform: Platform
  /** All apps of the company, this one included: a honeypot blocks addresses for all of them. */
  company_apps: readonly string[]
  /** Retention has deleted older clicks, Unix epoch ms; 0 when none. Those of the limit of the tables may be gone too. */
  clicks_deleted_before_ms: number
  /** The settings that held when an install was received. */
  settingsAt(received_at_ms: number): AttributionSettings
}

/** An app with what reads the events of its installs. */
export interface AppWithSecrets extends AttributionApp {
  /** 32 bytes that sign click ids; made at first use. Never logged. */
  link_secret: Buffer
  /** 32 bytes of the company that key the hashes of device ids; made at first use. Never logged. */
  salt: Buffer
}

/** Apps by id, kept in memory like credentials (promises: see `Credentials`); null when unknown. */
export interface AttributionApps<App extends AttributionApp = AttributionApp> {
  find(app_id: string): Promise<App | null>
  close(): Promise<void>
}
