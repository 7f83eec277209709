import { lazy, Suspense } from 'react'
import { Skeleton } from '../../parts/skeleton.tsx'
import { usePlace } from '../../shell/session.ts'
import { AppOverview } from './app-overview.tsx'

const AllApps = lazy(() => import('./all-apps.tsx'))

/** The first page: one app, or all of them. */
export default function Overview() {
  const { app, apps } = usePlace()
  const only = apps.length === 1 ? apps[0] : undefined
  const shown = app ?? only
  if (shown !== undefined) return <AppOverview app={shown} key={shown.app_id} />
  return (
    <Suspense fallback={<Skeleton shape="table" />}>
      <AllApps />
    </Suspense>
  )
}
