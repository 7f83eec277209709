/** What the install time is made of; columns of `events_raw_v1`. */
export interface InstallClock {
  source: string
  ts_ms: number
  received_at_ms: number
  /** 0 when absent. */
  sent_at_ms: number
}

const skew_ms_max = 24 * 3600 * 1000

/**
 * When an install took place (docs/rules.md#install-time): a backend's word as given; an SDK's clock corrected by how
 * far off it was when the batch was sent, unless that is more than 24 h, and never later than received.
 */
export function installTime({ source, ts_ms, received_at_ms, sent_at_ms }: InstallClock): number {
  if (source !== 'sdk') return ts_ms
  const skew_ms = sent_at_ms === 0 ? 0 : received_at_ms - sent_at_ms
  return Math.min(received_at_ms, Math.abs(skew_ms) > skew_ms_max ? ts_ms : ts_ms + skew_ms)
}
