import { CliError } from '../errors.ts'

type Reasons = Record<string, number>

const byCount = (reasons: Reasons) => Object.entries(reasons).sort(([, a], [, b]) => b - a)

/** One line per reason, the most frequent first, then the path of the rejected lines. Empty without rejected lines. */
export function describeRejected(reasons: Reasons, path: string): string[] {
  const lines = byCount(reasons).map(([reason, count]) => `  ${count}  ${reason}`)
  return lines.length === 0 ? [] : [...lines, `Rejected lines are in ${path}`]
}

/** One line per reason for which lines were not meant to be sent. */
export const describeSkipped = (reasons: Reasons): string[] =>
  byCount(reasons).map(([reason, count]) => `  ${count}  skipped: ${reason}`)

/** Throws CliError `all_rejected` when no line of a file was accepted, so that scripts notice. */
export function refuseAllRejected(total: { accepted: number; rejected: number }, reasons: Reasons): void {
  if (total.accepted > 0 || total.rejected === 0) return
  const counted = byCount(reasons).map(([reason, count]) => `${reason} ${count}`)
  throw new CliError('all_rejected', `No line was accepted: ${counted.join(', ')}.`)
}
