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
