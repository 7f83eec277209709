import { type Decided, type DeliveryDeps, deliverEvents } from '@tributary/client/deliver-events'
import { defaultPolicy, type RetryPolicy } from '@tributary/client/retry'
import { throwCliError } from '../http.ts'
import type { Event, FileLine, SkippedLine } from './lines.ts'

/** A line that the service does not have, and the reason. It becomes one line of the rejected file. */
export interface RejectedLine {
  line: number
  /** The reason for this event, or the error code when a whole request was refused because of it. */
  reason: string
  field: string | null
  /** A person reads here what was wrong; null where the reason says it. */
  message: string | null
  text: string
}

/** Adds rejected lines to the counts by reason and field. */
export function countReasons(
  counts: Record<string, number>,
  rejected: readonly Pick<RejectedLine, 'reason' | 'field'>[],
): void {
  for (const { reason, field } of rejected) countOne(counts, field === null ? reason : `${reason} (${field})`)
}

/** Adds one to the count of a reason. */
export function countOne(counts: Record<string, number>, reason: string): void {
  counts[reason] = (Object.hasOwn(counts, reason) ? counts[reason]! : 0) + 1
}

export interface BatchOutcome {
  accepted: number
  rejected: RejectedLine[]
  /** Accepted events without their own `event_id` that may have been sent before. */
  duplicates_possible: number
}

export interface BatchDeps extends Pick<DeliveryDeps<Event>, 'post' | 'refusals'> {
  /** Whether an earlier run may have sent these lines. */
  sent_before: boolean
}

/**
 * Sends one batch until each line is accepted, or rejected with a reason (`deliverEvents`). Throws CliError when a request
 * is refused for another cause than its events, or when the service stays unreachable.
 */
export async function deliverBatch(
  lines: readonly (FileLine | SkippedLine)[],
  { post, refusals, sent_before }: BatchDeps,
): Promise<BatchOutcome> {
  const outcome: BatchOutcome = { accepted: 0, rejected: [], duplicates_possible: 0 }
  const lineOf = new Map<Event, FileLine>()
  for (const line of lines) {
    if ('event' in line) lineOf.set(line.event, line)
    else if ('reason' in line)
      outcome.rejected.push(reject(line, { reason: line.reason, field: null, message: line.message ?? null }))
  }
  const onDecided = (decided: readonly Decided<Event>[]) => {
    for (const { event, outcome: of } of decided) {
      if (of.status === 'rejected') outcome.rejected.push(reject(lineOf.get(event)!, of))
      else outcome.accepted += 1
      const again = of.status === 'accepted' && (of.repeated || sent_before)
      if (again && !event.own_id) outcome.duplicates_possible += 1
    }
  }
  await deliverEvents([...lineOf.keys()], { post, refusals, onDecided }).catch(throwCliError)
  outcome.rejected.sort((a, b) => a.line - b.line)
  return outcome
}

type Cause = Pick<RejectedLine, 'reason' | 'field' | 'message'>

const reject = ({ line, text }: FileLine, { reason, field, message }: Cause): RejectedLine => ({
  ...{ line, reason, field, message, text },
})

/** Retries for the time of `--retry-for`. A 429 is not a failure and may come any number of times. */
export const retryFor = (give_up_after_ms: number): RetryPolicy => ({
  ...defaultPolicy,
  attempts_max: Number.POSITIVE_INFINITY,
  give_up_after_ms,
})
