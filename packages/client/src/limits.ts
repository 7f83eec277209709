/**
 * The limits that the client keeps to. The first group are the service's (a test holds them equal
 * to `contracts`), the others its own.
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
  /** Between two `_crash` events. */
  crash_interval_ms: 60_000,
  /** `props` of a `_crash` as JSON; the service takes 16 KiB. */
  crash_props_bytes_max: 15 * 1024,
  /** Room that the JSON around the events of one request takes. */
  wrapping_bytes: 64,
  /** What an SDK's queue holds before the oldest events give way; a browser's localStorage has 5 MB. */
  queue_events_max: 10_000,
  queue_bytes_max: 4 * 1024 * 1024,
  /** Longest pause before an SDK asks again, whatever `Retry-After` says: a quota may be raised any day. */
  sdk_pause_ms_max: 24 * 3600 * 1000,
  /** Longest `Retry-After` of a 429 that a call of the server client waits for; beyond it throws. */
  asked_pause_ms_max: 10 * 60_000,
} as const
