import { useInfiniteQuery } from '@tanstack/react-query'
import { call, type Input, type Output } from '../../api/call.ts'
import { routes } from '../../api/declared/routes.ts'
import { windowOf } from '../../api/range.ts'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export type Entry = Output<'readAuditLog'>['entries'][number]

/** The word of the address for the entries of all companies. */
export const all = 'all'

/** The companies whose entries the person may read, and the one that is shown; operators may read all together. */
export function useScope() {
  const { me, companies, company } = usePlace()
  const { scope } = useWords()
  const operator = hasRole(me, routes.getStatus.roles)
  const own = companies.filter(({ company_id }) => hasRole(me, routes.readAuditLog.roles, company_id))
  const current = own.find(({ company_id }) => company_id === scope) ?? (operator ? undefined : company)
  return { operator, own, company_id: current?.company_id }
}

/** The filters of the address, as the request says them. */
export function useFilters(): Input<'readAuditLog'>['query'] {
  const { company_id } = useScope()
  const { actor, action, subject, ...words } = useWords()
  return { ...windowOf(words), company_id, actor, action, subject }
}

export function useAuditLog() {
  const query = useFilters()
  return useInfiniteQuery({
    queryKey: ['readAuditLog', query],
    queryFn: ({ pageParam, signal }) => call('readAuditLog', { query: { ...query, before_id: pageParam } }, signal),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ next_before_id }) => next_before_id ?? undefined,
  })
}
