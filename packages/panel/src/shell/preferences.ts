import type { Me } from '@tributary/contracts/admin/people/own-account'
import { parseViews, type View } from './saved-view.ts'

type Memberships = Me['memberships']

/** What a browser remembers of its person. A browser that keeps nothing forgets it with the page. */
const kept = (name: string): string | null => {
  try {
    return localStorage.getItem(`tributary.${name}`)
  } catch {
    return null
  }
}

function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`tributary.${name}`)
    else localStorage.setItem(`tributary.${name}`, value)
  } catch {
    // Storage is off: the choice holds until the page is closed.
  }
}

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]
export const readTheme = (): Theme => themes.find((one) => one === kept('theme')) ?? 'system'

export function applyTheme(theme: Theme): void {
  keep('theme', theme === 'system' ? null : theme)
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

export const areKeysOn = (): boolean => kept('keys') !== 'off'
export const switchKeys = (on: boolean): void => keep('keys', on ? null : 'off')

/** The address of the page that was used last, below `/admin`. */
export const readLastPage = (): string | null => kept('last-page')
export const keepLastPage = (address: string): void => keep('last-page', address)

/** The roles that the person held at the last visit: a guess of what the page may ask for, before the service says it. */
export function readMemberships(): Memberships | null {
  try {
    const held: unknown = JSON.parse(kept('memberships') ?? 'null')
    return Array.isArray(held) ? held : null
  } catch {
    return null
  }
}
export const keepMemberships = (held: Memberships | null): void =>
  keep('memberships', held === null ? null : JSON.stringify(held))

const views_max = 50
export const views_changed = 'tributary:views'

/** The saved views of this browser as they are kept: equal texts are equal views. */
export const keptViews = (): string => kept('views') ?? '[]'

/** Keeps a view; one of the same name is replaced. */
export function saveView(view: View): void {
  const others = parseViews(keptViews()).filter(({ name }) => name !== view.name)
  keepViews([...others, view].slice(-views_max))
}

export const dropView = (gone: string): void => keepViews(parseViews(keptViews()).filter(({ name }) => name !== gone))

function keepViews(views: readonly View[]): void {
  keep('views', JSON.stringify(views))
  window.dispatchEvent(new Event(views_changed))
}
