import type { KeyScope } from '@tributary/contracts/admin/server-keys'
import type { Platform } from '@tributary/contracts/envelope'

/** An app, as a gateway finds it by its app key. */
export interface AppCredential {
  app_id: string
  company_id: string
  platform: Platform
  /** Decrypted; used as its UTF-8 text. Never logged. */
  signing_secret: string
  /** Valid beside it until they end; empty without a rotation. */
  old_secrets: readonly OldSecret[]
}

/** A signing secret that a rotation replaced. */
export interface OldSecret {
  signing_secret: string
  /** The first moment at which it is valid no more. */
  ends_at_ms: number
}

export interface CompanyCredential {
  company_id: string
  status: 'active' | 'suspended'
  /** Events per month; null is unlimited. */
  monthly_quota: number | null
}

export interface ServerKeyCredential {
  key_id: string
  app_id: string
  company_id: string
  platform: Platform
  /** Empty: all events. */
  allowed_events: readonly string[]
  scopes: readonly KeyScope[]
  company_status: 'active' | 'suspended'
  monthly_quota: number | null
}

/**
 * Credentials as a gateway looks them up; null means unknown (or revoked). Kept in memory, refreshed by LISTEN/NOTIFY and
 * at latest after `limits.credentials_fresh_ms`; with PostgreSQL away the last known answer holds for
 * `limits.credentials_stale_ms_max`, then every call rejects with CodedError `unavailable`.
 */
export interface Credentials {
  findApp(app_key: string): Promise<AppCredential | null>
  findCompany(company_key: string): Promise<CompanyCredential | null>
  /** Looks up by SHA-256: the key itself is stored nowhere. */
  findServerKey(key: string): Promise<ServerKeyCredential | null>
  close(): Promise<void>
}
