import type { Progress } from '@tributary/audited/reading'
import { noProgress, type ReplayProgress } from '@tributary/contracts/admin/stored-data'

/** The running counts of one replay. */
export interface Tally extends ReplayProgress, Progress {}

export function createTally(): Tally {
  const tally: Tally = {
    ...noProgress,
    unknown_reasons: Object.create(null),
    doubt(reason, count = 1) {
      if (count === 0) return
      tally.unknown += count
      tally.unknown_reasons[reason] = (tally.unknown_reasons[reason] ?? 0) + count
    },
    reached(done, total, words) {
      tally.at = words
      tally.percent = total === 0 ? 100 : Math.floor((done * 100) / total)
    },
  }
  return tally
}

/** What whoever waits hears. */
export const progressOf = ({ doubt: _, reached: __, ...progress }: Tally): ReplayProgress => progress
