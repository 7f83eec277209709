import { day_ms } from '@tributary/contracts/limits'

/** The facts that give the time of an install and the age of its events; columns of `events_raw_v1`. */
export interface EventClock {
  source: string
  ts_ms: number
  received_at_ms: number
  /** 0 when absent. */
  sent_at_ms: number
}

const skew_ms_max = day_ms

/**
 * The correction that the age of an event adds to its time (docs/rules.md#age-of-an-event). An SDK's time is corrected
 * by the error of its clock when the batch was sent, unless that is more than 24 h, and is never later than the
 * receipt. A backend's time is not corrected.
 */
export function clockCorrection({ source, ts_ms, received_at_ms, sent_at_ms }: EventClock): number {
  if (source !== 'sdk') return 0
  const skew_ms = sent_at_ms === 0 ? 0 : received_at_ms - sent_at_ms
  return Math.min(received_at_ms - ts_ms, Math.abs(skew_ms) > skew_ms_max ? 0 : skew_ms)
}

/**
 * The time of an install (docs/rules.md#install-time). It is the time of its event, corrected like its age, and never
 * later than the receipt, even for a backend. An event of the same batch and time therefore never comes before its
 * install.
 */
export const installTime = (clock: EventClock): number =>
  Math.min(clock.received_at_ms, clock.ts_ms + clockCorrection(clock))
