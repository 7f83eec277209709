import { type Page, type PageName, pages } from '../pages/pages.ts'
import { PageLink } from './page-link.tsx'
import { hasRole } from './roles.ts'
import type { Place } from './session.ts'
import { Switcher } from './switcher.tsx'
import { Views } from './views.tsx'

const groups = ['Numbers', 'Traffic', 'Set-up'] as const

/** The pages that the person may open. */
export function Rail({ place }: { place: Place }) {
  const shown = (pages as readonly Page[]).filter((page) => hasRole(place.me, page.roles))
  return (
    <>
      <Switcher place={place} />
      <nav aria-label="Pages">
        <Views place={place} />
        {groups.map((group) => {
          const own = shown.filter((page) => page.group === group)
          if (own.length === 0) return null
          return (
            <section key={group}>
              <h2>{group}</h2>
              <ul>
                {own.map((page) => (
                  <li key={page.name}>
                    <PageLink page={page.name as PageName} className="rail-link">
                      {page.title}
                      {page.key && <kbd>g {page.key}</kbd>}
                    </PageLink>
                  </li>
                ))}
              </ul>
            </section>
          )
        })}
      </nav>
      <p className="rail-foot">
        <a href="/admin/docs">Documentation</a>
      </p>
    </>
  )
}
