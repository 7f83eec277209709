import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { SystemStatus } from '@tributary/contracts/admin/system'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'

/** What the admin API works with. */
export interface AdminApiDeps {
  pool: Pool
  masterKeys: MasterKeys
  admin_token: string
  /** Base of tracking links; absent: the address at which a request came. */
  link_url?: string | undefined
  /** The audit objects of the gateways, and of requests for erasure. */
  audit: Pick<AuditStore, 'get' | 'list' | 'putOnce'>
  /** The log of accepted events, and the tables that the event-writer fills from it. */
  broker: Pick<Broker, 'publish' | 'consume' | 'groupOffsets' | 'partitionCount'>
  clickhouse: Clickhouse
  /** The counters of the gateways. */
  keyValue: Pick<KeyValue, 'get'>
  status: () => Promise<SystemStatus>
  now: () => number
  logger: Logger
  registry: Registry
}
