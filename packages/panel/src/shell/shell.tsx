import { Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isClockWrong } from '../api/clock.ts'
import { findPage } from '../pages/pages.ts'
import { Fault } from '../parts/fault.tsx'
import { Opener, popup } from '../parts/opener.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { AccountMenu } from './account-menu.tsx'
import { DateRange } from './date-range.tsx'
import { FindDialog } from './find-dialog.tsx'
import { Keys } from './keys.tsx'
import { keepLastPage } from './preferences.ts'
import { Rail } from './rail.tsx'
import { hasRole } from './roles.ts'
import { type Place, usePlace, usePlaces } from './session.ts'
import { SaveView } from './views.tsx'
import { useSetWords } from './words.ts'

/** What stands around each page. It shows no page before it knows who is here. */
export function Shell() {
  const { me, places, error } = usePlaces()
  if (error !== null && places.data === undefined)
    return (
      <main className="door">
        <h1>Tributary</h1>
        <Fault error={error} retry={() => void (me.error ? me.refetch() : places.refetch())} />
      </main>
    )
  if (places.data === undefined) return <Skeleton shape="shell" />
  return <Inside />
}

function Inside() {
  const place = usePlace()
  const { pathname, href } = useRouterState({ select: ({ location }) => location })
  const isComing = useRouterState({ select: ({ isLoading }) => isLoading })
  const page = findPage(pathname)
  useEffect(() => keepLastPage(href), [href])
  useEffect(() => {
    // What people typed is text here as everywhere.
    document.title = [page?.title, place.app?.name, 'Tributary'].filter((part) => part !== undefined).join(' · ')
  }, [page, place.app])
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <aside className="rail" aria-label="Pages">
        <Rail place={place} />
      </aside>
      <div className="stage">
        <header className="bar">
          <SmallRail place={place} />
          <h1>{page?.title}</h1>
          {page && <SaveView place={place} />}
          <div className="bar-tools">
            {page?.group === 'Numbers' || page?.dated ? <DateRange /> : null}
            {place.app !== null && <FindDialog />}
            <AccountMenu me={place.me} />
          </div>
        </header>
        {isClockWrong() && (
          <p className="notice">The clock of this browser is wrong. Dates follow the clock of the service.</p>
        )}
        <main id="page" className="page" tabIndex={-1} aria-busy={isComing}>
          <PageOfApp place={place} />
        </main>
      </div>
      <Keys place={place} />
    </div>
  )
}

/** The page itself, once its address names an app and the role allows it. */
function PageOfApp({ place }: { place: Place }) {
  const { me, app, apps } = place
  const page = findPage(useRouterState({ select: ({ location }) => location.pathname }))
  const setWords = useSetWords()
  const missing = page?.of_app === true && app === null
  const first = apps[0]?.app_id
  useEffect(() => {
    if (missing && first !== undefined) setWords({ app: first }, { replace: true })
  }, [missing, first, setWords])
  if (page && !hasRole(me, page.roles))
    return (
      <div className="empty">
        <h2>Your role does not include this page</h2>
        <p>It is for {page.roles.join(', ')}. An owner of the company can give you such a role.</p>
      </div>
    )
  if (missing && first === undefined)
    return (
      <div className="empty">
        <h2>No app yet</h2>
        <p>This page shows one app. Make one under Apps and keys, or ask an owner for a role over one.</p>
      </div>
    )
  return missing ? <Skeleton shape="page" /> : <Outlet />
}

const smallRail = popup(() => import('./popups/small-rail.tsx'))

/** The rail on a narrow screen: behind a button. */
const SmallRail = ({ place }: { place: Place }) => (
  <Opener opens={smallRail} className="button rail-button" aria-label="Pages" given={{ place }}>
    <span aria-hidden="true" className="bars" />
  </Opener>
)
