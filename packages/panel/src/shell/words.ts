import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { PageName } from '../pages/pages.ts'

/** What the address says behind `?`: the whole state of a page. */
export type Words = Readonly<Record<string, string | undefined>>

export const parseWords = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))

export function writeWords(words: Record<string, unknown>): string {
  const given = Object.entries(words).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

export const useWords = (): Words => useRouterState({ select: ({ location }) => location.search as Words })

/** Words that mean the same on each page, and go along. */
const shared = ['app', 'company', 'range', 'from', 'to']
export const sharedWords = (words: Words): Record<string, string | undefined> =>
  Object.fromEntries(shared.map((name) => [name, words[name]]))

/** Changes words of the address; `replace` leaves no step for the back button. */
export function useSetWords(): (change: Words, options?: { replace?: boolean }) => void {
  const navigate = useNavigate()
  return useCallback(
    (change, { replace = false } = {}) =>
      void navigate({ to: '.', search: (words: Words) => ({ ...words, ...change }), replace } as never),
    [navigate],
  )
}

/** Opens a page with the shared words of this one. */
export function useOpen(): (page: PageName | '', words?: Words, id?: string) => void {
  const navigate = useNavigate()
  return useCallback(
    (page, words = {}, id) =>
      void navigate({ to: pathTo(page, id), search: (now: Words) => ({ ...sharedWords(now), ...words }) } as never),
    [navigate],
  )
}

export const pathTo = (page: PageName | '', id?: string): string =>
  `/${page}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
