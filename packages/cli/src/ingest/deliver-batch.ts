import { type DeliveryDeps, deliverEvents, type Settled } from '@tributary/client/deliver-events'
import { defaultPolicy, type RetryPolicy } from '@tributary/client/retry'
import { throwCliError } from '../http.ts'
import type { Event, FileLine } from './lines.ts'

/** A line that is not in the service, and why. This is a line of the file of rejected lines. */
export interface RejectedLine {
  line: number
  /** A per-event reason or, where a whole request was refused because of this line, its error code. */
  reason: string
  field: string | null
  text: string
}

/** Adds rejected lines to their counts by reason, and by field where one is named. */
export function countReasons(counts: Record<string, number>, rejected: readonly RejectedLine[]): void {
  for (const { reason, field } of rejected) {
    const name = field === null ? reason : `${reason} (${field})`
    counts[name] = (counts[name] ?? 0) + 1
  }
}

export interface BatchOutcome {
  accepted: number
  rejected: RejectedLine[]
  /** Accepted events without an `event_id` of their own that may have been sent before. */
  duplicates_possible: number
}

export interface BatchDeps extends Pick<DeliveryDeps<Event>, 'post' | 'refusals'> {
  /** Whether an earlier run may have sent these lines. */
  sent_before: boolean
}

/**
 * Brings one batch to its end: each line is accepted, or rejected with a reason (`deliverEvents`). Throws CliError when
 * a request is refused for another cause than its events, or when the service stays away.
 */
export async function deliverBatch(
  lines: readonly FileLine[],
  { post, refusals, sent_before }: BatchDeps,
): Promise<BatchOutcome> {
  const outcome: BatchOutcome = { accepted: 0, rejected: [], duplicates_possible: 0 }
  const lineOf = new Map<Event, FileLine>()
  for (const line of lines) {
    if ('event' in line) lineOf.set(line.event, line)
    else outcome.rejected.push(reject(line, line.reason, null))
  }
  const settle = (settled: readonly Settled<Event>[]) => {
    for (const { event, outcome: of } of settled) {
      if (of.status === 'rejected') outcome.rejected.push(reject(lineOf.get(event)!, of.reason, of.field))
      else outcome.accepted += 1
      const again = of.status === 'accepted' && (of.repeated || sent_before)
      if (again && !event.own_id) outcome.duplicates_possible += 1
    }
  }
  await deliverEvents([...lineOf.keys()], { post, refusals, settle }).catch(throwCliError)
  outcome.rejected.sort((a, b) => a.line - b.line)
  return outcome
}

const reject = ({ line, text }: FileLine, reason: string, field: string | null): RejectedLine => ({
  line,
  reason,
  field,
  text,
})

/** For as long as `--retry-for` says; being asked to wait (429) is no failure and may happen any number of times. */
export const retryFor = (give_up_after_ms: number): RetryPolicy => ({
  ...defaultPolicy,
  attempts_max: Number.POSITIVE_INFINITY,
  give_up_after_ms,
})
