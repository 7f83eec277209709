import { useQuery } from '@tanstack/react-query'
import { routes } from '../../api/declared/routes.ts'
import { firstRowsQuery, reportQuery, routeQuery } from '../../api/queries.ts'
import { before, daysOf, windowOf } from '../../api/range.ts'
import { hasRole, usePlace } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

/** Numbers of a page that stays open follow what comes in. */
const refresh_ms = 15_000
const top_campaigns = 5

/** Everything that the overview of an app shows. */
export function useOverview(app_id: string) {
  const window = windowOf(useWords())
  const { since_ms, until_ms } = window
  const query = { since_ms, until_ms }
  const options = { refetchInterval: refresh_ms }
  const tiles = useQuery({ ...routeQuery('getAppOverview', { params: { app_id }, query }), ...options })
  const installs = useQuery({ ...reportQuery('attribution', app_id, query), ...options })
  const revenue = useQuery({ ...reportQuery('revenue', app_id, query), ...options })
  const cohorts = useQuery({ ...reportQuery('cohorts', app_id, query), ...options })
  const events = useQuery({ ...reportQuery('events', app_id, query), ...options })
  const costs = useQuery(reportQuery('costs', app_id, query))
  const earlier = before(window)
  const costsBefore = useQuery(reportQuery('costs', app_id, { ...earlier }))
  const revenueBefore = useQuery(reportQuery('revenue', app_id, { ...earlier }))
  return {
    window,
    days: daysOf(window),
    query,
    tiles,
    installs,
    revenue,
    cohorts,
    events,
    costs,
    costsBefore,
    revenueBefore,
  }
}

/** The campaigns that cost the most; without any cost, those that brought the most. */
export function useTopCampaigns(app_id: string, costs: number | null) {
  const { since_ms, until_ms } = windowOf(useWords())
  const sort = costs === 0 ? '-installs' : '-cost_usd'
  const query = { since_ms, until_ms, group: 'none', by: 'partner,campaign', sort }
  const asked = firstRowsQuery('performance', app_id, { ...query, limit: top_campaigns })
  return { query, sort, campaigns: useQuery({ ...asked, enabled: costs !== null }) }
}

export const useAllApps = () => {
  const { since_ms, until_ms } = windowOf(useWords())
  return useQuery({ ...routeQuery('getOverview', { query: { since_ms, until_ms } }), refetchInterval: refresh_ms })
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
