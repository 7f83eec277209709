/**
 * The limits of the client. The first group repeats the service's limits (a test compares them with `contracts`); the
 * second group is the client's own.
 */
export const limits = {
  sdk_body_bytes_max: 1024 * 1024,
  sdk_inflated_bytes_max: 8 * 1024 * 1024,
  sdk_batch_events_max: 500,
  bulk_body_bytes_max: 8 * 1024 * 1024,
  bulk_events_max: 1000,
  report_limit_max: 1000,

  /** A batch of this many events is compressed. */
  gzip_events_min: 10,
  /** Shortest time between two `_crash` events. */
  crash_interval_ms: 60_000,
  /** Limit of the `props` of a `_crash` as JSON. The service takes 16 KiB. */
  crash_props_bytes_max: 15 * 1024,
  /** Bytes of the JSON around the events of one request. */
  wrapping_bytes: 64,
  /** Limits of an SDK's queue; beyond them it drops the oldest events. A browser's localStorage has 5 MB. */
  queue_events_max: 10_000,
  queue_bytes_max: 4 * 1024 * 1024,
  /** Longest pause before an SDK retries, even if `Retry-After` is longer: a quota may be raised any day. */
  sdk_pause_ms_max: 24 * 3600 * 1000,
  /** Longest `Retry-After` of a 429 for which a call of the server client waits; it throws when a longer one comes. */
  retry_after_ms_max: 10 * 60_000,
} as const
