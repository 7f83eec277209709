import { useQuery } from '@tanstack/react-query'
import { reportQuery, routeQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useFraud() {
  const { app_id } = useApp()
  const { since_ms, until_ms } = windowOf(useWords())
  const query = { since_ms, until_ms, group: 'none', by: 'partner', sort: '-fraud_flagged' }
  return {
    ...{ app_id, query },
    partners: useQuery(reportQuery('performance', app_id, query)),
    fraud: useQuery({
      ...routeQuery('getFraud', { params: { app_id }, query: { since_ms, until_ms } }),
      placeholderData: (before, { queryKey } = {} as never) =>
        (queryKey?.[1] as { params?: { app_id?: string } } | undefined)?.params?.app_id === app_id ? before : undefined,
    }),
  }
}
