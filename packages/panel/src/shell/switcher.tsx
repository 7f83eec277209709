import { Opener, popup } from '../parts/opener.tsx'
import type { Place } from './session.ts'

const platforms: Record<string, string> = { ios: 'iOS', android: 'Android' }
export const platformName = (platform: string): string => platforms[platform] ?? platform

const switcherList = popup(() => import('./popups/switcher-list.tsx'))

/** Chooses the app, of any company of the person. */
export function Switcher({ place }: { place: Place }) {
  const { apps, companies, app } = place
  const nameOf = (id: string) => companies.find(({ company_id }) => company_id === id)?.name ?? id
  return (
    <Opener opens={switcherList} className="switcher" given={{ place }}>
      <span className="switcher-mark" aria-hidden="true">
        {(app?.name ?? 'All').trim().slice(0, 1).toUpperCase()}
      </span>
      <span className="switcher-name">
        <strong>{app?.name ?? 'All apps'}</strong>
        <span className="quiet">
          {app ? `${nameOf(app.company_id)} · ${platformName(app.platform)}` : `${apps.length} apps`}
        </span>
      </span>
      <span aria-hidden="true" className="caret" />
    </Opener>
  )
}
