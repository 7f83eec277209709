import { isDeepStrictEqual } from 'node:util'
import type { DecidedAt, Decision } from '@tributary/contracts/attribution/decision'

/**
 * True unless `next` was decided after `written`: from a newer log, a later record or a later try. An older decision
 * comes from a process that slept, or is read again. It never replaces a written one.
 */
export function isBehind(next: DecidedAt, written: DecidedAt): boolean {
  if (next.log !== written.log) return next.log < written.log
  return next.offset < written.offset || (next.offset === written.offset && next.try <= written.try)
}

/** A decision without the time and position at which it was made. */
export type Attributed = Omit<Decision, 'decided_at' | 'decided_at_ms'>

/** True when two decisions of an install differ only in when they were made. */
export const saysTheSame = (a: Attributed, b: Attributed): boolean => isDeepStrictEqual(contentOf(a), contentOf(b))

/** True when two decisions give an install other verdicts, or only one of them gives it any. */
export const hasOtherVerdict = (a: Attributed, b: Attributed): boolean => !isDeepStrictEqual(a.verdict, b.verdict)

const contentOf = ({ decided_at: _at, decided_at_ms: _ms, ...content }: Attributed & Partial<Decision>): Attributed =>
  content
