/**
 * Columns of `events_raw_v1` in the order the event-writer sends them (JSONCompactEachRow).
 * A migration that adds a column adds it here; the test "row schema equals table" holds both equal.
 */
export interface EventRow {
  app_id: string
  /** UTC date of `ts`, `YYYY-MM-DD`. */
  day: string
  install_uuid: string
  /** Event time, Unix epoch milliseconds. */
  ts_ms: number
  event_name: string
  event_id: string
  /** Unsigned 64-bit decimal: first 8 bytes of SHA-256 of the idempotency key. */
  event_key: string
  /** `day`, or `1970-01-01` for an install, whose key holds for ever. */
  key_day: string
  user_id: string
  /** Signed money in micros of `currency` (refunds negative); null without `revenue`. */
  revenue_micros: string | null
  /** ISO 4217 upper case; empty without `revenue`. */
  currency: string
  transaction_id: string
  product_id: string
  /** JSON text. */
  props: string
  device: string
  extra: string
  platform: string
  source: string
  sdk: string
  sdk_platform: string
  ip: string
  user_agent: string
  company_id: string
  audit_key: string
  received_at_ms: number
  /** 0 when absent. */
  sent_at_ms: number
  /** Log position: `<topic>@<log>`, the name of the topic and the identity of the log (docs/adr/0100). */
  topic: string
  partition: number
  offset: number
  /** Unsigned 64-bit decimal: first 8 bytes of SHA-256 of `event_name` and `transaction_id`; 0 without money or transaction. */
  transaction_key: string
  /** 1 when its money counts; 0 without money, or when its transaction was counted before. */
  revenue_counts: 0 | 1
}

/** The columns of an insert into `events_raw_v1`, in the order of a line. */
export const eventRowColumns = [
  'app_id',
  'day',
  'install_uuid',
  'ts_ms',
  'event_name',
  'event_id',
  'event_key',
  'key_day',
  'user_id',
  'revenue_micros',
  'currency',
  'transaction_id',
  'product_id',
  'props',
  'device',
  'extra',
  'platform',
  'source',
  'sdk',
  'sdk_platform',
  'ip',
  'user_agent',
  'company_id',
  'audit_key',
  'received_at_ms',
  'sent_at_ms',
  'topic',
  'partition',
  'offset',
  'transaction_key',
  'revenue_counts',
] as const satisfies ReadonlyArray<keyof EventRow>

/**
 * A row of `revenue_raw_v1` (filled by a view, one for each event whose money counts) and of `revenue_cancelled_v1`
 * (those of them that do not count after all).
 */
export interface RevenueRow {
  app_id: string
  /** UTC date of `ts_ms`, `YYYY-MM-DD`. */
  day: string
  install_uuid: string
  ts_ms: number
  event_name: string
  /** As in `EventRow`. */
  event_key: string
  currency: string
  /** Signed micros of `currency`, below 2^53. */
  amount_micros: number
  /** As in `EventRow`. */
  transaction_key: string
  received_at_ms: number
  topic: string
  partition: number
  offset: number
}

/** The columns of an insert into `revenue_cancelled_v1`, in the order of a line. */
export const revenueRowColumns = [
  'app_id',
  'day',
  'install_uuid',
  'ts_ms',
  'event_name',
  'event_key',
  'currency',
  'amount_micros',
  'transaction_key',
  'received_at_ms',
  'topic',
  'partition',
  'offset',
] as const satisfies ReadonlyArray<keyof RevenueRow>
