import type { LogRecord } from '@tributary/broker/broker'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { isBehind, saysTheSame } from '@tributary/domain/attribute/decisions'
import type { InstallRow } from '@tributary/tables/attribution/install-rows'

/** A decision of a batch with its record. */
interface ReceivedDecision {
  record: LogRecord
  decision: Decision
}

/** The decisions of an install in a batch, in the order of the log. */
export interface InstallDecisions {
  /** The newest decision that was written before the batch; null without one. */
  written: Decision | null
  received: readonly ReceivedDecision[]
}

/** Why a decision writes nothing. */
type Ignored = 'behind' | 'unchanged'

/** A decision that writes rows. */
export interface Replacement {
  before: Decision | null
  decision: Decision
  rows: InstallRow[]
}

export interface Followed {
  replacements: Replacement[]
  ignored: Ignored[]
}

/**
 * The rows of the decisions of an install. They follow from the records of the log alone: every cut into batches and every
 * try makes the same rows, so a set takes each of them once.
 */
export function followDecisions({ written, received }: InstallDecisions, source: string): Followed {
  const followed: Followed = { replacements: [], ignored: [] }
  let before = written
  for (const { record, decision: said } of received) {
    const decision = withCountry(said, before)
    const ignored = reasonToIgnore(decision, said, before)
    if (ignored !== null) {
      followed.ignored.push(ignored)
      continue
    }
    const { partition, offset } = record
    const place = { topic: source, partition, offset }
    const cancel = before === null ? [] : [{ decision: before, sign: -1 as const, place }]
    followed.replacements.push({ before, decision, rows: [...cancel, { decision, sign: 1, place }] })
    before = decision
  }
  return followed
}

/**
 * The decision with the country of the one before it where it says none: its attributor may have read a fact before the job filled it. A
 * record that fills a country says nothing else, whatever has been decided since it was made (docs/attribution.md#countries).
 */
function withCountry(said: Decision, before: Decision | null): Decision {
  if (said.fills === undefined) {
    return said.country === undefined && before?.country !== undefined ? { ...said, country: before.country } : said
  }
  return before === null || before.country !== undefined ? said : { ...before, country: said.country }
}

/**
 * A decision of a second or later try of the attributor is written even when it changes nothing: its position then
 * outranks what a sleeper of the first try publishes late (docs/decisions/attribution.md#rows-of-verdicts-follow-from-the-log).
 */
function reasonToIgnore(decision: Decision, { fills }: Decision, written: Decision | null): Ignored | null {
  if (fills !== undefined) return written === null || written.country !== undefined ? 'unchanged' : null
  if (written === null) return null
  if (isBehind(decision.decided_at, written.decided_at)) return 'behind'
  return decision.decided_at.try <= 1 && saysTheSame(decision, written) ? 'unchanged' : null
}
