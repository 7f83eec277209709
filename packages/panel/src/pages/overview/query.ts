import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { call, type Input, type Output } from '../../api/call.ts'
import { routes } from '../../api/declared/routes.ts'
import { firstRowsQuery, partnerDaysQuery, reportQuery, routeQuery } from '../../api/queries.ts'
import { before, daysOf, windowOf } from '../../api/range.ts'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

/** Numbers of a page that stays open follow what comes in. */
const refresh_ms = 15_000
const top_campaigns = 5

/** Everything that the overview of an app shows. */
export function useOverview(app_id: string) {
  const window = windowOf(useWords())
  const { since_ms, until_ms } = window
  const query = { since_ms, until_ms }
  const tiles = useQuery({
    ...routeQuery('getAppOverview', { params: { app_id }, query }),
    refetchInterval: refresh_ms,
  })
  // A service runs few reports at once, and a browser few scripts: the first numbers come before their courses and charts.
  const options = { refetchInterval: refresh_ms, enabled: tiles.isFetched }
  const partners = useQuery({ ...partnerDaysQuery(app_id, query), enabled: tiles.isFetched })
  const installs = useQuery({ ...reportQuery('attribution', app_id, query), ...options })
  const revenue = useQuery({ ...reportQuery('revenue', app_id, query), ...options })
  const cohorts = useQuery({ ...reportQuery('cohorts', app_id, query), ...options })
  const events = useQuery({ ...reportQuery('events', app_id, query), ...options })
  const partnersBefore = useQuery({ ...partnerDaysQuery(app_id, { ...before(window) }), enabled: tiles.isFetched })
  return {
    ...{ window, days: daysOf(window), query },
    ...{ tiles, installs, revenue, cohorts, events, partners, partnersBefore },
  }
}

/** The campaigns that cost the most; without any cost, those that brought the most. */
export function useTopCampaigns(app_id: string, hasCosts: boolean | null) {
  const { since_ms, until_ms } = windowOf(useWords())
  const sort = hasCosts === false ? '-installs' : '-cost_usd'
  const query = { since_ms, until_ms, group: 'none', by: 'partner,campaign', sort }
  const asked = firstRowsQuery('performance', app_id, { ...query, limit: top_campaigns })
  return { query, sort, campaigns: useQuery({ ...asked, enabled: hasCosts !== null }) }
}

/** The figures of every app of the person: an answer has some of them. */
export const useAllApps = () => {
  const window = windowOf(useWords())
  return useQuery({
    queryKey: ['getOverview', window],
    queryFn: async ({ signal }) => {
      const apps: Output<'getOverview'>['apps'] = []
      let after: string | null = null
      do {
        const query: Input<'getOverview'>['query'] = { ...window, ...(after !== null && { after_app_id: after }) }
        const answer: Output<'getOverview'> = await call('getOverview', { query }, signal)
        apps.push(...answer.apps)
        after = answer.next_app_id
      } while (after !== null)
      return apps
    },
    placeholderData: keepPreviousData,
    refetchInterval: refresh_ms,
  })
}

export const useAttention = () => useQuery({ ...routeQuery('listAttention', {}), refetchInterval: 30_000 })

/** The age of the oldest accepted event that is not in the numbers yet; operators alone may look. */
export function useWatermark() {
  const { me } = usePlace()
  return useQuery({
    ...routeQuery('getStatus', {}),
    enabled: hasRole(me, routes.getStatus.roles),
    refetchInterval: 5000,
  })
}
