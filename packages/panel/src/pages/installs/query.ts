import { useQuery } from '@tanstack/react-query'
import type { Input } from '../../api/call.ts'
import { limits } from '../../api/declared/limits.ts'
import { routeQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

type Query = Input<'listAppInstalls'>['query']

export function useInstalls() {
  const { app_id } = useApp()
  const { partner, campaign, attribution_type, flagged, ...words } = useWords()
  const query = {
    ...windowOf(words),
    partner,
    campaign,
    attribution_type,
    flagged,
    limit: limits.report_limit_max,
  } as Query
  return useQuery({
    ...routeQuery('listAppInstalls', { params: { app_id }, query }),
    placeholderData: (before, { queryKey } = {} as never) =>
      (queryKey?.[1] as { params?: { app_id?: string } } | undefined)?.params?.app_id === app_id ? before : undefined,
  })
}
