import { day_ms } from '@tributary/contracts/limits'

/** The facts that give the install time; columns of `events_raw_v1`. */
export interface InstallClock {
  source: string
  ts_ms: number
  received_at_ms: number
  /** 0 when absent. */
  sent_at_ms: number
}

const skew_ms_max = day_ms

/**
 * The time of an install (docs/rules.md#install-time). A backend's time is not corrected. An SDK's time is corrected
 * by the error of its clock when the batch was sent, unless that is more than 24 h. Neither is later than the receipt.
 */
export function installTime({ source, ts_ms, received_at_ms, sent_at_ms }: InstallClock): number {
  const skew_ms = source !== 'sdk' || sent_at_ms === 0 ? 0 : received_at_ms - sent_at_ms
  return Math.min(received_at_ms, Math.abs(skew_ms) > skew_ms_max ? ts_ms : ts_ms + skew_ms)
}
