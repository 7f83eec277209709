import { useQuery } from '@tanstack/react-query'
import { routes } from '../../api/declared/routes.ts'
import { reportQuery, routeQuery } from '../../api/queries.ts'
import { before, daysOf, windowOf } from '../../api/range.ts'
import { hasRole, usePlace } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

/** Numbers of a page that stays open follow what comes in. */
const refresh_ms = 15_000

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
