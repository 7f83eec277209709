import { hasRequests } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { listAppCompanies } from '@tributary/tenancy/companies/tenants'
import type { Pool } from 'pg'

export interface GoneDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  broker: Pick<Broker, 'groupOffsets'>
  audit: Pick<AuditStore, 'list'>
  pool: Pool
}

/**
 * True when tables and log are empty as at a first start while apps and their audited requests exist: tables and log hold
 * no sign that they were removed. Call it before anything is written.
 */
export async function areEventsGone({ clickhouse, broker, audit, pool }: GoneDeps): Promise<boolean> {
  const { name, topic } = consumers.eventWriter
  const offsets = await broker.groupOffsets(name, topic.name)
  if (offsets.some(({ end }) => end > 0)) return false
  if ((await clickhouse.query('SELECT 1 FROM events_raw_v1 LIMIT 1')).length > 0) return false
  if ((await listAppCompanies(pool)).size === 0) return false
  return hasRequests(audit)
}
