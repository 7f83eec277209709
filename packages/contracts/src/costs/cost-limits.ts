/** The limits of costs (docs/rules.md#costs). `limits` (limits.ts) has all of them. */
export const costLimits = {
  /** Costs of one `PUT /api/v1/costs`. */
  costs_max: 1000,
  /** Its body, on the wire and after gunzip: the longest texts in JSON escapes need 2.2 MB. */
  costs_body_bytes_max: 4 * 1024 * 1024,
  /** A cost of one day, in any currency. */
  cost_max: 1e9,
  /** Clicks and impressions of a cost. */
  cost_counts_max: 1e12,
  /** Days before it have no costs. */
  cost_day_min: '2015-01-01',
  /** How far the `as_of_ms` of an upload may lie in the future of the server's clock. */
  cost_as_of_ahead_ms_max: 24 * 3600 * 1000,
  /** Uploads of one process that wait while others are stored; more are 503, so that a slow ClickHouse holds no slots of events. */
  cost_uploads_waiting_max: 32,
  /** Uploads of people for one app at once, in a process. */
  app_cost_uploads_max: 2,
} as const
