const minute_ms = 60_000
const hour_ms = 60 * minute_ms
const day_ms = 24 * hour_ms

/** Limits of partner postbacks (docs/rules.md#partner-postbacks). */
export const partnerLimits = {
  /** Partners with settings in an app. */
  app_partners_max: 1000,
  /** A template, and the events that it is sent for. */
  partner_url_chars_max: 2048,
  partner_events_max: 100,
  partner_secret_chars_max: 256,
  /** Nothing is owed this long after its receipt. */
  partner_owed_ms_max: 7 * day_ms,
  /** Keys of what was owed are kept so long, so that nothing is owed twice. */
  partner_keys_kept_ms: 14 * day_ms,
  /** A delivery is tried for so long. */
  partner_tries_ms_max: day_ms,
  /** First pause after a failure; it doubles up to the second. */
  partner_retry_ms: 5000,
  partner_retry_ms_max: 15 * minute_ms,
  /** A try ends after this time. */
  partner_try_ms_max: 10_000,
  /** Bytes of an answer that are read, and characters of it that the log keeps. */
  partner_answer_bytes_max: 64 * 1024,
  partner_answer_chars_max: 500,
  /** A process that was killed in a try holds its delivery up for this long: longer than a try, its log and its mark. */
  partner_lease_ms: 2 * minute_ms,
  /** Tries at once: of a partner of an app, and of a process in their first second and after it. */
  partner_tries_at_once_max: 16,
  partner_fast_tries_max: 128,
  partner_slow_tries_max: 512,
  /** Tries at once that a company may have for each place that is free; half of that to begin one of a partner that is not known to answer. */
  partner_company_tries_per_free_max: 2,
  partner_slow_try_ms: 1000,
  /** A partner that fails is stopped for this time, which doubles up to the second. */
  partner_breaker_ms: 1000,
  partner_breaker_ms_max: minute_ms,
  /** A `Retry-After` stops a partner for so long at most. */
  partner_retry_after_stop_ms_max: 15 * minute_ms,
  /** Deliveries of an answer of the admin API. */
  partner_deliveries_default: 100,
  partner_deliveries_max: 1000,
  /** The answer to a test delivery is waited for so long. */
  partner_test_ms_max: 15_000,
  /** A partner fails, for `/attention`: a delivery has waited so long, or one died in the last day. */
  partner_late_ms: hour_ms,
} as const
