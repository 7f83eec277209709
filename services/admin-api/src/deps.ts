import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { SystemStatus } from '@tributary/contracts/admin/system'
import type { Targets } from '@tributary/domain/partner/targets'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { Trouble } from '@tributary/service-kit/service/health'
import type { CostStore } from '@tributary/tables/costs/store-costs'
import type { LinkMails } from '@tributary/tenancy/people/mail/link-mails'
import type { IdentityProvider } from '@tributary/tenancy/people/oidc/identity-provider'
import type { Sessions } from '@tributary/tenancy/people/sessions/session-cache'
import type { ResolveHost } from '@tributary/tenancy/resolve-host'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { StoreUrls } from './stores/check-stores.ts'

/** The things that the admin API uses. */
export interface AdminApiDeps {
  pool: Pool
  masterKeys: MasterKeys
  admin_token: string
  /** People who are signed in. */
  sessions: Pick<Sessions, 'find'>
  /** Absent: links are shown once instead. */
  mails?: LinkMails | undefined
  /** Absent: people sign in by password alone. */
  oidc?: IdentityProvider | undefined
  /** `TRIBUTARY_PASSWORD_SIGN_IN=off`. */
  oidc_alone?: boolean
  /** `TRIBUTARY_ADMIN_URL`: where browsers reach the panel. */
  admin_url?: string | undefined
  /** `TRIBUTARY_PUBLIC_URL`: where SDKs and backends reach the fleet. */
  public_url?: string | undefined
  trusted_proxies?: readonly string[]
  /** Base of tracking links. Without it links begin with the address of the request, if this process serves links there. */
  link_url?: string | undefined
  /** The process answers links at the address of the admin API. */
  serves_links?: boolean
  /** The audit objects of the gateways, and of requests for erasure. */
  audit: Pick<AuditStore, 'get' | 'putOnce'>
  /** Dead letters, and how far consumers have read. */
  broker: Pick<Broker, 'consume' | 'groupOffsets'>
  clickhouse: Pick<Clickhouse, 'query'>
  costs: CostStore
  /** The counters of the gateways, and what they show of requests. */
  keyValue: Pick<KeyValue, 'get' | 'hitWindow' | 'append' | 'read'>
  status: () => Promise<SystemStatus>
  /** Which addresses postbacks may reach, and how names resolve; those of the internet when absent. */
  targets?: Targets
  resolve?: ResolveHost
  store_urls?: StoreUrls
  /** Of this process, as in `/health`. */
  troubles?: readonly (() => readonly Trouble[])[]
  now: () => number
  logger: Logger
  registry: Registry
}
