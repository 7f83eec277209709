import type { Platform } from '@tributary/contracts/envelope'
import type { Remembered } from '../credentials/cached-lookup.ts'

/** A tracking link with what a redirect needs of its app. */
export interface TrackingLink {
  link_id: string
  company_id: string
  app_id: string
  enabled: boolean
  company_status: 'active' | 'suspended'
  partner: string
  campaign: string | null
  ad_group: string | null
  creative: string | null
  fallback_url: string | null
  deep_link: string | null
  /** ISO 3166-1 alpha-2; null allows all. */
  countries: readonly string[] | null
  lookback_hours: number | null
  honeypot: boolean
  platform: Platform
  bundle_id: string | null
  store_id: string | null
  provider_token: string | null
  /** Secret and salt of `AttributionApp`. */
  link_secret: Buffer
  salt: Buffer
}

/** Links by id, kept in memory like credentials (promises: see `Credentials`); null when unknown. */
export interface Links {
  find(link_id: string): Promise<TrackingLink | null>
  /** What memory holds of a link. An id of a wrong shape is always `unknown`. */
  recall(link_id: string): Remembered
  close(): Promise<void>
}
