import { CliError } from '../errors.ts'

type Reasons = Record<string, number>

const byCount = (reasons: Reasons) => Object.entries(reasons).sort(([, a], [, b]) => b - a)

/** One line a reason, the most frequent first, and where the lines are; nothing without any. */
export function describeRejected(reasons: Reasons, path: string): string[] {
  const lines = byCount(reasons).map(([reason, count]) => `  ${count}  ${reason}`)
  return lines.length === 0 ? [] : [...lines, `Rejected lines are in ${path}`]
}

/** Throws `all_rejected` when not one line of a file was accepted: whoever waits for its events must hear of it. */
export function refuseAllRejected(total: { accepted: number; rejected: number }, reasons: Reasons): void {
  if (total.accepted > 0 || total.rejected === 0) return
  const counted = byCount(reasons).map(([reason, count]) => `${reason} ${count}`)
  throw new CliError('all_rejected', `No line was accepted: ${counted.join(', ')}.`)
}
