import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

/** The days since the install that the map has columns of. */
export const cohortDays = [0, 1, 2, 3, 5, 7, 14, 21, 30, 60]
export const groups = ['day', 'week', 'month'] as const
export type Group = (typeof groups)[number]

export function useCohorts() {
  const { app_id } = useApp()
  const words = useWords()
  const { since_ms, until_ms } = windowOf(words)
  const group: Group = groups.find((one) => one === words.group) ?? 'day'
  const query = { since_ms, until_ms, group, days: cohortDays.join(',') }
  return { app_id, group, query, cohorts: useQuery(reportQuery('cohorts', app_id, query)) }
}
