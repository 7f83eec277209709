import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { type Page, type PageName, pages } from '../pages/pages.ts'
import { openFind } from './find-dialog.tsx'
import { areKeysOn } from './preferences.ts'
import { hasRole } from './roles.ts'
import type { Place } from './session.ts'
import { useOpen } from './words.ts'

const KeyList = lazy(() => import('./popups/key-list.tsx'))

/** `g` waits this long for its letter. */
const pair_ms_max = 1500

/** Keys that act anywhere but in a field: `/`, `?`, and `g` with the letter of a page. */
export function Keys({ place: { me } }: { place: Place }) {
  const [help, setHelp] = useState(false)
  const open = useOpen()
  const gone_at = useRef(Number.NEGATIVE_INFINITY)
  const shown = (pages as readonly Page[]).filter((page) => page.key !== undefined && hasRole(me, page.roles))
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!areKeysOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const page =
        event.timeStamp - gone_at.current < pair_ms_max ? shown.find(({ key }) => key === event.key) : undefined
      gone_at.current = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (page) open(page.name as PageName)
      else if (event.key === '/') openFind()
      else if (event.key === '?') setHelp(true)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
  return (
    help && (
      <Suspense>
        <KeyList pages={shown} onClose={() => setHelp(false)} />
      </Suspense>
    )
  )
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.closest('input, textarea, select, [role=dialog], [role=listbox], [role=menu]') !== null)
