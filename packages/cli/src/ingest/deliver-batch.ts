import { BatchReply } from '@tributary/contracts/event'
import { read } from '../admin.ts'
import { CliError } from '../errors.ts'
import { type Answer, errorOf, refusal } from '../http.ts'
import type { Event, FileLine } from './lines.ts'
import type { Delivered } from './retry.ts'

/** A line that is not in the service, and why. This is a line of the file of rejected lines. */
export interface RejectedLine {
  line: number
  /** A per-event reason or, where a whole request was refused because of this line, its error code. */
  reason: string
  field: string | null
  text: string
}

export interface BatchOutcome {
  accepted: number
  rejected: RejectedLine[]
  /** Accepted events without an `event_id` of their own that may have been sent before. */
  duplicates_possible: number
}

export interface BatchDeps {
  /** Sends these events as one request. */
  post(events: readonly Event[]): Promise<Delivered>
  refusals: Refusals
  /** Whether an earlier run may have sent these lines. */
  sent_before: boolean
}

/** What the service is known to refuse whole requests for; asked before sending, so that each is found only once. */
export class Refusals {
  readonly #known = new Map<string, string>()

  /** Notes why a request that held only this event was refused. */
  learn(event: Event, code: string): void {
    const key = refusedFor(event, code)
    if (key !== null && this.#known.size < 1000) this.#known.set(key, code)
  }

  /** The code that a request with this event would be refused with, null when it may pass. */
  find({ event_name, platforms }: Event): string | null {
    if (this.#known.size === 0) return null
    const name = typeof event_name === 'string' ? [`name ${event_name}`] : []
    const keys = [...name, ...platforms.map((platform) => `platform ${platform}`)]
    return keys.map((key) => this.#known.get(key)).find((code) => code !== undefined) ?? null
  }
}

function refusedFor({ event_name, platforms }: Event, code: string): string | null {
  if (code === 'event_not_allowed_by_key' && typeof event_name === 'string') return `name ${event_name}`
  if (code === 's2s_app_platform_mismatch' && platforms.length === 1) return `platform ${platforms[0]}`
  return null
}

type Sendable = Extract<FileLine, { event: Event }>

/**
 * Brings one batch to its end: each line is accepted, or rejected with a reason. A request that is refused because of
 * what is in it is halved until the guilty lines stand alone; the rest is sent. Throws CliError when it is refused for
 * another cause, or when the service stays away.
 */
export async function deliverBatch(lines: readonly FileLine[], deps: BatchDeps): Promise<BatchOutcome> {
  const unsent = lines.flatMap((line) => ('event' in line ? [] : [reject(line, line.reason)]))
  const sendable = lines.filter((line): line is Sendable => 'event' in line)
  const outcome = await deliverLines(sendable, deps)
  return { ...outcome, rejected: [...unsent, ...outcome.rejected].sort((a, b) => a.line - b.line) }
}

async function deliverLines(all: readonly Sendable[], deps: BatchDeps): Promise<BatchOutcome> {
  const judged = all.map((line) => ({ line, code: deps.refusals.find(line.event) }))
  const foreseen = judged.flatMap(({ line, code }) => (code === null ? [] : [reject(line, code)]))
  const lines = judged.flatMap(({ line, code }) => (code === null ? [line] : []))
  if (lines.length === 0) return { accepted: 0, rejected: foreseen, duplicates_possible: 0 }

  const { answer, repeated } = await deps.post(lines.map(({ event }) => event))
  if (answer.status === 200) return join(foreseen, readResults(lines, answer, repeated, deps))
  if (!isForContent(answer)) throw refusal(answer)
  const only = lines.length === 1 ? lines[0] : undefined
  if (only !== undefined) {
    const { code = 'body_too_large', field } = errorOf(answer)
    deps.refusals.learn(only.event, code)
    return { accepted: 0, rejected: [...foreseen, reject(only, code, field)], duplicates_possible: 0 }
  }
  const middle = Math.ceil(lines.length / 2)
  const first = await deliverLines(lines.slice(0, middle), deps)
  const second = await deliverLines(lines.slice(middle), deps)
  return join(foreseen, first, second)
}

/** Whether the events themselves are why, so that fewer of them may pass. A proxy's 413 carries no code of ours. */
function isForContent(answer: Answer): boolean {
  const code = errorOf(answer).code ?? ''
  if (answer.status === 413) return true
  return codes_for_content.has(code)
}

const codes_for_content = new Set([
  'bad_json',
  'bad_batch_shape',
  'invalid_field',
  'too_many_events',
  's2s_app_platform_mismatch',
  'event_not_allowed_by_key',
])

function readResults(lines: readonly Sendable[], answer: Answer, repeated: boolean, deps: BatchDeps): BatchOutcome {
  const { results } = read(answer, BatchReply)
  if (results.length !== lines.length) {
    throw new CliError('unexpected_answer', 'The service answered another number of results than events were sent.')
  }
  const outcome: BatchOutcome = { accepted: 0, rejected: [], duplicates_possible: 0 }
  for (const [index, result] of results.entries()) {
    const line = lines[index]!
    if (result.status === 'rejected') {
      outcome.rejected.push(reject(line, result.reason ?? 'rejected', result.field))
      continue
    }
    outcome.accepted += 1
    if (!line.event.own_id && (repeated || deps.sent_before)) outcome.duplicates_possible += 1
  }
  return outcome
}

function reject({ line, text }: FileLine, reason: string, field?: string): RejectedLine {
  return { line, reason, field: field ?? null, text }
}

function join(foreseen: RejectedLine[], ...parts: BatchOutcome[]): BatchOutcome {
  return {
    accepted: parts.reduce((sum, { accepted }) => sum + accepted, 0),
    rejected: [...foreseen, ...parts.flatMap(({ rejected }) => rejected)],
    duplicates_possible: parts.reduce((sum, part) => sum + part.duplicates_possible, 0),
  }
}
