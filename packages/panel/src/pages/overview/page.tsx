import { usePlace } from '../../shell/session.ts'
import { AllApps } from './all-apps.tsx'
import { AppOverview } from './app-overview.tsx'

/** The first page: one app, or all of them. */
export default function Overview() {
  const { app, apps } = usePlace()
  const only = apps.length === 1 ? apps[0] : undefined
  const shown = app ?? only
  return shown === undefined ? <AllApps /> : <AppOverview app={shown} key={shown.app_id} />
}
