import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import type { Logger } from 'pino'
import { figureNames } from './figures.ts'
import { type Due, type DueRequest, findDueDays, findDuePairs } from './find-due.ts'
import { settleCohorts, settleDays } from './settle-days.ts'
import { type CohortName, cohortFigures } from './sql/cohorts.ts'

export interface SettlerDeps {
  clickhouse: Clickhouse
  logger: Logger
  /** Called after each statement. */
  onSettled?: (figure: string, days: number) => void
  /** A clock that never goes back, in milliseconds; that of this process by default. */
  elapsed?: () => number
}

export interface SettleOptions {
  /** Days that changed in the last so many milliseconds are left out, but for money that has grown enough. */
  quiet_ms: number
  /**
   * True leaves the UTC day that is not over live, but for its money once that has grown enough: of an app with few events the day would be
   * settled after each.
   */
  only_over?: boolean
  /** Ends it between two statements. */
  signal?: AbortSignal
  /** Where an earlier run was cut: this one leaves out what comes before. */
  from?: Cut | null
}

/** Where a run was cut. */
export interface Cut {
  figure: string
  /** The last one of this figure that the run came by; null before the first. */
  after: Due | null
}

/** The job settles days that are over and quiet, and money sooner (`findDueDays`). Others would be settled again and again, in vain. */
export const whenQuiet = { quiet_ms: limits.settle_quiet_ms, only_over: true } satisfies SettleOptions

/** A kind of figure. One statement settles days of one app: `days_first` at first, and `days_max` at most. */
interface Work {
  figure: string
  days_first: number
  days_max: number
  find(request: DueRequest): Promise<Due[]>
  settle(app_id: string, days: readonly Due[]): Promise<void>
}

/** The number of figures that a run settled: a day of a figure, or a day of installs and one of the numbers of a cohort, counts one. */
export interface Settled {
  settled: number
  /** False: the signal ended the run before all that was due was settled. */
  done: boolean
  /** Where it ended; absent when it is done. */
  cut?: Cut
}

/**
 * Settles the days that are due. Any number of processes may do it at once, and each may be killed at any time
 * (docs/decisions/reports.md#settled-figures-carry-a-version). Rejects when ClickHouse is away. A day that ClickHouse refuses stays live,
 * with a line in the log.
 */
export function createSettler({ clickhouse, logger, onSettled, elapsed = () => performance.now() }: SettlerDeps) {
  /** When the job tries days again that the engine refused alone, by `elapsed`. */
  const refused_until = new Map<string, number>()
  const nameOf = ({ figure }: Work, { app_id, day, n }: Due) => `${figure}/${app_id}/${day}/${n}`
  return async function settle({ from = null, signal, ...options }: SettleOptions): Promise<Settled> {
    const all = figuresToSettle(clickhouse)
    // An unknown figure is one of another version: all begins anew.
    const first = Math.max(
      0,
      all.findIndex(({ figure }) => figure === from?.figure),
    )
    let settled = 0
    for (const work of all.slice(first)) {
      const { figure } = work
      const run = await settleAll(work, options, figure === from?.figure ? from.after : null, signal)
      settled += run.settled
      if (run.is_cut) return { settled, done: false, cut: { figure, after: run.after } }
    }
    return { settled, done: true }
  }

  /**
   * Settles each day at most once, so that a day that changes all the time does not hold up the others. Cohorts of different numbers share
   * a statement: with the end of a day each app has one pair of each number due.
   */
  async function settleAll(
    work: Work,
    { quiet_ms, only_over = false }: Pick<SettleOptions, 'quiet_ms' | 'only_over'>,
    from: Due | null,
    signal?: AbortSignal,
  ): Promise<{ settled: number; after: Due | null; is_cut: boolean }> {
    let settled = 0
    for (let after = from; ; ) {
      const page: Due[] = await work.find({ quiet_ms, only_over, after })
      // Somebody who asks has all tried.
      const due =
        quiet_ms === 0 ? page : page.filter((one) => !((refused_until.get(nameOf(work, one)) ?? 0) > elapsed()))
      for (const of_app of Map.groupBy(due, ({ app_id }) => app_id).values()) {
        let [size, most] = [work.days_first, work.days_max]
        for (let begin = 0; begin < of_app.length; ) {
          if (signal?.aborted) return { settled, after, is_cut: true }
          const some = of_app.slice(begin, begin + size)
          const began_ms = elapsed()
          const run = await settleSome(work, some)
          settled += run.settled
          after = some.at(-1)!
          begin += some.length
          if (run.was_refused) most = Math.max(work.days_first, Math.floor(size / 2))
          size = Math.min(most, nextSize(work, size, elapsed() - began_ms))
        }
      }
      if (page.length < limits.settle_page) return { settled, after, is_cut: false }
      after = page.at(-1)!
    }
  }

  /** Halves what the engine refuses, as for want of memory. A day that is refused alone stays live, and rests. */
  async function settleSome(work: Work, some: readonly Due[]): Promise<{ settled: number; was_refused: boolean }> {
    try {
      await work.settle(some[0]!.app_id, some)
      for (const one of some) refused_until.delete(nameOf(work, one))
      onSettled?.(work.figure, some.length)
      return { settled: some.length, was_refused: false }
    } catch (err) {
      // An engine that is away ends the run. One that answers has refused these days, as for want of memory.
      await clickhouse.checkHealth()
      logger.warn({ err, figure: work.figure, days: some.length, first: some[0] }, 'days could not be settled')
      if (some.length === 1) {
        refused_until.set(nameOf(work, some[0]!), elapsed() + limits.settle_refused_ms)
        return { settled: 0, was_refused: true }
      }
      const half = Math.ceil(some.length / 2)
      const [first, second] = [await settleSome(work, some.slice(0, half)), await settleSome(work, some.slice(half))]
      return { settled: first.settled + second.settled, was_refused: true }
    }
  }
}

const figuresToSettle = (clickhouse: Clickhouse): Work[] => [
  ...figureNames.map((figure) => ({
    figure,
    days_first: limits.settle_days_first,
    days_max: limits.settle_days_max,
    find: (request: DueRequest) => findDueDays(clickhouse, figure, request),
    settle: (app_id: string, days: readonly Due[]) => settleDays(clickhouse, figure, app_id, days),
  })),
  ...cohortNames.map((figure) => ({
    figure,
    days_first: limits.settle_cohort_days_first,
    days_max: limits.settle_cohort_days_max,
    find: (request: DueRequest) => findDuePairs(clickhouse, figure, request),
    settle: (app_id: string, pairs: readonly Due[]) => settleCohorts(clickhouse, figure, app_id, pairs),
  })),
]

const cohortNames = Object.keys(cohortFigures) as CohortName[]

/** Doubles the days after a short statement and halves them after a long one: its plan costs more than a few days of a small app. */
function nextSize({ days_first, days_max }: Work, size: number, took_ms: number): number {
  if (took_ms > limits.settle_statement_ms) return Math.max(days_first, Math.floor(size / 2))
  return took_ms * 2 < limits.settle_statement_ms ? Math.min(days_max, size * 2) : size
}
