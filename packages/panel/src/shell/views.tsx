import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useMemo, useSyncExternalStore } from 'react'
import { Button } from 'react-aria-components'
import { Opener, popup } from '../parts/opener.tsx'
import { dropView, keptViews, views_changed } from './preferences.ts'
import { parseViews, type View } from './saved-view.ts'

const texts = {
  views: 'Saved views',
  save: 'Save this view',
  remove: (name: string) => `Remove the view ${name}`,
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

function useViews(): readonly View[] {
  const text = useSyncExternalStore(subscribe, keptViews)
  return useMemo(() => parseViews(text), [text])
}

/** The saved views, in the rail. */
export function Views() {
  const views = useViews()
  const navigate = useNavigate()
  const { href } = useRouterState({ select: ({ location }) => location })
  if (views.length === 0) return null
  return (
    <section>
      <h2>{texts.views}</h2>
      <ul>
        {views.map(({ name, address }) => (
          <li key={name} className="view">
            <a
              href={`/admin${address}`}
              className="rail-link"
              aria-current={href === address ? 'page' : undefined}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return
                event.preventDefault()
                void navigate({ href: address } as never)
              }}
            >
              <span className="cut">{name}</span>
            </a>
            <Button className="tag-remove" aria-label={texts.remove(name)} onPress={() => dropView(name)}>
              <span aria-hidden="true">×</span>
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

const saveView = popup(() => import('./popups/save-view.tsx'))

/** Gives the address of the page a name. */
export function SaveView() {
  const { href } = useRouterState({ select: ({ location }) => location })
  const saved = useViews().find(({ address }) => address === href)
  return (
    <Opener
      opens={saveView}
      className="button round"
      aria-label={texts.save}
      given={{ address: href, saved: saved?.name }}
    >
      <svg className="star" viewBox="0 0 16 16" aria-hidden="true" data-saved={saved ? true : undefined}>
        <path d="M8 1.8l1.9 4 4.3.5-3.2 3 .9 4.3L8 11.5 4.1 13.6l.9-4.3-3.2-3 4.3-.5z" />
      </svg>
    </Opener>
  )
}
