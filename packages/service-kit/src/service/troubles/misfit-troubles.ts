import type { Trouble } from '../health.ts'
import type { ReplayNeeded } from './replay-needed.ts'

/** One partition whose log, committed offset and tables did not fit together. */
export interface FoundMisfit {
  consumer: string
  topic: string
  partition: number
  reason: string
  /** Offset that the group had committed; null when it is unknown. */
  committed: number | null
  /** Where reading goes on. */
  next: number
  /** End of the log, exclusive. */
  end: number
}

/** The misfits of a process, as troubles of `/health` and `tributary doctor`. */
export interface MisfitTroubles {
  found(misfit: FoundMisfit): void
  /** The consumer has handled all that a partition holds. */
  caughtUp(consumer: string, partition: number): void
  troubles(): Trouble[]
}

const replay = 'npx tributary replay --from-audit'
const watch = 'Nothing is missing. Wait for it with: npx tributary status --wait'

/** The cause in words, and the command that goes on. docs/operations.md holds the same table. */
const reasons: Record<string, { what: string; fix: string; lasts: 'until_read' | 'until_filled' }> = {
  offset_moved: { what: 'its offset was moved', fix: watch, lasts: 'until_read' },
  tables_are_ahead: {
    what: 'the tables hold more than was committed: a log or offsets of an earlier state came back',
    fix: `What came after that state and was not written is in the audit store alone: ${replay}`,
    lasts: 'until_filled',
  },
  reread: { what: 'the log is read again because tables were filled again', fix: watch, lasts: 'until_read' },
  log_ends_before: {
    what: 'the log ends before the committed offset: its newest records were lost',
    fix: `The audit store holds them: ${replay}`,
    lasts: 'until_filled',
  },
  log_replaced: {
    what: 'other records stand where handled ones stood: the log was made anew',
    fix: `The audit store holds what the old log had: ${replay}`,
    lasts: 'until_filled',
  },
  records_lost: {
    what: 'retention removed records of a batch that was begun and not finished',
    fix: `The audit store holds them: ${replay}`,
    lasts: 'until_filled',
  },
  tables_lack_rows: {
    what: 'the tables lack rows that were committed',
    fix: `For what is older than the log: ${replay}`,
    lasts: 'until_filled',
  },
}
const rebuild = 'Stop the event-writers, run npx tributary rebuild, start them.'
const unknownReason = { what: 'log, offset and tables do not fit', fix: replay, lasts: 'until_filled' as const }

const about = (reason: string) => reasons[reason] ?? unknownReason

/**
 * Keeps the misfits of the consumers of a process. One that needs nobody is forgotten once its partition is read; one
 * that needs a replay goes to `needed`. `tables_on_server`: nobody here fills tables of ClickHouse that lack rows.
 */
export function createMisfitTroubles(
  needed: Pick<ReplayNeeded, 'note' | 'isNoted'>,
  { tables_on_server }: { tables_on_server: boolean },
): MisfitTroubles {
  const open = new Map<string, FoundMisfit>()
  const keyOf = (consumer: string, partition: number) => `${consumer}/${partition}`

  function fixOf(misfit: FoundMisfit): string {
    const { fix } = about(misfit.reason)
    return misfit.reason === 'tables_lack_rows' && tables_on_server ? `${rebuild} ${fix}` : fix
  }

  function toTrouble(misfit: FoundMisfit): Trouble {
    const { consumer, topic, partition, reason, committed, next, end } = misfit
    const { what } = about(reason)
    const known = `committed ${committed ?? 'unknown'}, the log ends at ${end}, reading goes on at ${next < 0 ? 'its beginning' : next}`
    return {
      code: reason,
      message: `${consumer}, partition ${partition} of ${topic}: ${what} (${known}).`,
      fix: fixOf(misfit),
      refuses: false,
    }
  }

  return {
    found(misfit) {
      const key = keyOf(misfit.consumer, misfit.partition)
      if (about(misfit.reason).lasts === 'until_filled') {
        needed.note(key, toTrouble(misfit))
        open.delete(key)
      } else if (!open.has(key) && !needed.isNoted(key)) {
        // Offsets that were put back because of a misfit are found as moved ones later: the cause is what counts.
        open.set(key, misfit)
      }
    },
    caughtUp(consumer, partition) {
      open.delete(keyOf(consumer, partition))
    },
    troubles: () => [...open.values()].map(toTrouble),
  }
}
