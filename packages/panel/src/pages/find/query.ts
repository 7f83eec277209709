import { useQuery } from '@tanstack/react-query'
import { routeQuery } from '../../api/queries.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export function useFound() {
  const { app_id } = useApp()
  const { q = '' } = useWords()
  const found = useQuery({
    ...routeQuery('findInApp', { params: { app_id }, query: { q } }),
    enabled: q !== '',
    placeholderData: undefined,
    // Each look-up is in the audit log: none is made without a person.
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  })
  return { q, found }
}
