import { lazy, Suspense } from 'react'
import { routes } from '../../api/declared/routes.ts'
import { Skeleton } from '../../parts/skeleton.tsx'
import { hasRole } from '../../shell/roles.ts'
import { usePlace } from '../../shell/session.ts'
import { AppOverview } from './app-overview.tsx'
import { Attention } from './attention.tsx'
import { texts } from './texts.ts'

const AllApps = lazy(() => import('./all-apps.tsx'))

/** The first page: one app, or all of them. Who may read no numbers sees what needs attention. */
export default function Overview() {
  const { me, app, apps } = usePlace()
  const only = apps.length === 1 ? apps[0] : undefined
  const shown = app ?? only
  if (!hasRole(me, routes.getOverview.roles))
    return (
      <>
        <p className="quiet">{texts.noNumbers}</p>
        <Attention />
      </>
    )
  if (shown !== undefined) return <AppOverview app={shown} key={shown.app_id} />
  return (
    <Suspense fallback={<Skeleton shape="table" />}>
      <AllApps />
    </Suspense>
  )
}
