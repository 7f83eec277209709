import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { decidedAt } from './verdicts.ts'

/** A cancelling row has these as the row that it cancels has them. */
const cancelled = [
  ...['decided_at_ms', 'installed_at_ms', 'received_at_ms', 'pending', 'partner', 'attribution_type', 'campaign'],
  ...['link_id', 'click_id', 'clicked_at_ms', 'reinstall', 'fraud_flags', 'rule_version', 'event_topic'],
  ...['event_partition', 'event_offset', 'event_index'],
]

/** Installs whose decisions do not cancel each other, but for one that counts. */
const torn = `
  SELECT app_id, install_uuid FROM (
    SELECT app_id, install_uuid, sum(sign) AS signs FROM installs_v1 FINAL
    GROUP BY app_id, install_uuid, cityHash64(${cancelled.join(', ')}))
  GROUP BY app_id, install_uuid HAVING countIf(signs != 0) != 1 OR sum(signs) != 1`

const newest = `
  SELECT app_id, install_uuid, topic, partition, offset FROM installs_v1
  WHERE sign = 1 AND (app_id, install_uuid) IN (${torn})
  ORDER BY app_id, install_uuid, ${decidedAt.map((one) => `${one} DESC`).join(', ')} LIMIT 1 BY app_id, install_uuid`

/**
 * Leaves the newest decision alone of each install of `installs_v1` that lost rows in its midst: what cancels a lost row, or
 * what a lost row had cancelled, would be in sums for ever. Nobody may write meanwhile. Killed half-way it does the same
 * when it is called again. Not for a cluster.
 */
export async function completeInstalls(clickhouse: Pick<Clickhouse, 'command'>): Promise<void> {
  await clickhouse.command(
    `ALTER TABLE installs_v1 DELETE
     WHERE (app_id, install_uuid) IN (${torn})
       AND (sign = -1 OR (app_id, install_uuid, topic, partition, offset) NOT IN (${newest}))
     SETTINGS mutations_sync = 2`,
  )
}
