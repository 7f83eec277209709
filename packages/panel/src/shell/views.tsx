import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useMemo, useSyncExternalStore } from 'react'
import { Button } from 'react-aria-components'
import { call } from '../api/call.ts'
import { routes } from '../api/declared/routes.ts'
import { routeQuery } from '../api/queries.ts'
import { Opener, popup } from '../parts/opener.tsx'
import { dropView, keptViews, views_changed } from './preferences.ts'
import { hasRole } from './roles.ts'
import { parseViews, type View } from './saved-view.ts'
import type { Place } from './session.ts'

const texts = {
  views: 'Saved views',
  save: 'Save this view',
  remove: (name: string) => `Remove the view ${name}`,
  by: (person: string | null) => `Shared${person === null ? '' : ` by ${person}`}`,
}

/** Other windows of the browser change them too. */
function subscribe(look: () => void): () => void {
  window.addEventListener('storage', look)
  window.addEventListener(views_changed, look)
  return () => {
    window.removeEventListener('storage', look)
    window.removeEventListener(views_changed, look)
  }
}

function useOwnViews(): readonly View[] {
  const text = useSyncExternalStore(subscribe, keptViews)
  return useMemo(() => parseViews(text), [text])
}

/** The views that people shared of the app of the page. */
function useSharedViews({ me, app }: Place) {
  const shared = useQuery({
    ...routeQuery('listViews', { params: { app_id: app?.app_id ?? '' } }),
    enabled: app !== null && hasRole(me, routes.listViews.roles, app.company_id),
    placeholderData: undefined,
  })
  return shared.data?.views ?? []
}

/** The saved views, in the rail: those of this browser, then those that all have. */
export function Views({ place }: { place: Place }) {
  const own = useOwnViews()
  const shared = useSharedViews(place)
  const client = useQueryClient()
  const remove = useMutation({
    mutationFn: (name: string) => call('removeView', { params: { app_id: place.app?.app_id ?? '' }, body: { name } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['listViews'] }),
  })
  if (own.length + shared.length === 0) return null
  return (
    <section>
      <h2>{texts.views}</h2>
      <ul>
        {own.map((view) => (
          <ViewLink key={`own ${view.name}`} view={view} onRemove={() => dropView(view.name)} />
        ))}
        {shared.map((view) => (
          <ViewLink
            key={`shared ${view.name}`}
            view={view}
            title={texts.by(view.saved_by)}
            onRemove={() => remove.mutate(view.name)}
          />
        ))}
      </ul>
    </section>
  )
}

interface ViewLinkProps {
  view: View
  /** Who shared it; absent for a view of this browser. */
  title?: string
  onRemove: () => void
}

function ViewLink({ view: { name, address }, title, onRemove }: ViewLinkProps) {
  const navigate = useNavigate()
  const { href } = useRouterState({ select: ({ location }) => location })
  return (
    <li className="view">
      <a
        href={`/admin${address}`}
        className="rail-link"
        title={title}
        aria-current={href === address ? 'page' : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          void navigate({ href: address } as never)
        }}
      >
        <span className="cut">{name}</span>
      </a>
      <Button className="tag-remove" aria-label={texts.remove(name)} onPress={onRemove}>
        <span aria-hidden="true">×</span>
      </Button>
    </li>
  )
}

const saveView = popup(() => import('./popups/save-view.tsx'))

/** Gives the address of the page a name. */
export function SaveView({ place }: { place: Place }) {
  const { href } = useRouterState({ select: ({ location }) => location })
  const shared = useSharedViews(place).find(({ address }) => address === href)
  const own = useOwnViews().find(({ address }) => address === href)
  const { me, app } = place
  const may_share = app !== null && hasRole(me, routes.saveView.roles, app.company_id)
  return (
    <Opener
      opens={saveView}
      className="button round"
      aria-label={texts.save}
      given={{ address: href, own: own?.name, app_id: may_share ? app.app_id : null, shared: shared?.name }}
    >
      <svg className="star" viewBox="0 0 16 16" aria-hidden="true" data-saved={own || shared ? true : undefined}>
        <path d="M8 1.8l1.9 4 4.3.5-3.2 3 .9 4.3L8 11.5 4.1 13.6l.9-4.3-3.2-3 4.3-.5z" />
      </svg>
    </Opener>
  )
}
