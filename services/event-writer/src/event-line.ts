import type { EventRow } from '@tributary/contracts/rows'

/**
 * One line of JSONCompactEachRow in the order of `eventRowColumns`, which a test holds. The columns are named one by
 * one because looking them up by name costs more than writing the JSON.
 */
export const eventLine = (row: EventRow): string =>
  JSON.stringify([
    row.app_id,
    row.day,
    row.install_uuid,
    row.ts_ms,
    row.event_name,
    row.event_id,
    row.event_key,
    row.key_day,
    row.user_id,
    row.revenue_micros,
    row.currency,
    row.transaction_id,
    row.product_id,
    row.props,
    row.device,
    row.extra,
    row.platform,
    row.source,
    row.sdk,
    row.sdk_platform,
    row.ip,
    row.user_agent,
    row.company_id,
    row.audit_key,
    row.received_at_ms,
    row.sent_at_ms,
    row.topic,
    row.partition,
    row.offset,
  ])
