import { useQuery } from '@tanstack/react-query'
import { reportQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export const ltvDays = [0, 1, 3, 7, 14, 21, 30, 45, 60, 90]

export function useLtv() {
  const { app_id } = useApp()
  const { since_ms, until_ms } = windowOf(useWords())
  const query = { since_ms, until_ms, days: ltvDays.join(',') }
  return {
    ...{ app_id, query },
    ltv: useQuery(reportQuery('ltv', app_id, query)),
    costs: useQuery(reportQuery('costs', app_id, { since_ms, until_ms })),
  }
}
