import { useQuery } from '@tanstack/react-query'
import { limits } from '../../api/declared/limits.ts'
import { firstRowsQuery, partnerDaysQuery, reportQuery } from '../../api/queries.ts'
import { daysOf, windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'
import { dayOfFigure, daysParameter, type State, stateOf, withoutCosts } from './state.ts'

/** The table: its first rows in the order of the service, and its totals. */
export function usePerformance() {
  const { app_id } = useApp()
  const words = useWords()
  const state = stateOf(words)
  const { by, period, shown, sort, filters } = state
  const { since_ms, until_ms } = windowOf(words)
  const query = {
    ...{ since_ms, until_ms, by: by.join(','), group: period, sort, days: daysParameter(shown) },
    ...filters,
  }
  const rows = useQuery(firstRowsQuery('performance', app_id, { ...query, limit: limits.report_limit_max }))
  // Cost of a partner is known only where nothing else but dimensions of costs narrows it.
  const partners = useQuery({
    ...partnerDaysQuery(app_id, { since_ms, until_ms, days: daysParameter(shown), ...filters }),
    enabled: rows.data !== undefined && withoutCosts(state).length === 0,
  })
  return { app_id, state, query, rows, partners, window: { since_ms, until_ms } }
}

/** Nobody reads more lines. */
const lines_max = 6

/** The chart: first which values of the first dimension are the largest, then these by period. */
export function useCourse({ by: [dimension], period, filters }: State, figure: string) {
  const { app_id } = useApp()
  const { since_ms, until_ms } = windowOf(useWords())
  const rank = isSum(figure) ? figure : 'installs'
  const asked = {
    ...{ since_ms, until_ms, by: dimension ?? '', days: daysParameter([figure]) },
    ...filters,
  }
  const largest = useQuery(
    firstRowsQuery('performance', app_id, { ...asked, group: 'none', sort: `-${rank}`, limit: lines_max }),
  )
  const values = dimension === undefined ? [] : (largest.data?.rows ?? []).map((row) => row[dimension] ?? '')
  const group = period === 'none' ? 'day' : period
  const query = { ...asked, group, ...(dimension !== undefined && { [dimension]: values }) }
  const course = useQuery({
    ...reportQuery('performance', app_id, query),
    enabled: largest.data !== undefined && !largest.isPlaceholderData,
  })
  return {
    ...{ app_id, dimension, rank, group, query, values },
    days: group === 'day' ? daysOf({ since_ms, until_ms }) : null,
    course: { ...course, error: largest.error ?? course.error },
  }
}

/** Whether a figure adds up: no quotient, and of no day that may be to come. */
export const isSum = (figure: string): boolean => dayOfFigure(figure) === null && !/^(cpi_usd|roas)$/.test(figure)
