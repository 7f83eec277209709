import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PageName } from '../pages/pages.ts'
import { pathTo, sharedWords, type Words } from './words.ts'

interface PageLinkProps {
  page: PageName
  id?: string
  words?: Words
  /** Keeps all words of this address, for another state of the same page. */
  kept?: true
  className?: string
  children: ReactNode
}

/** A link to a page, with the app and the dates of this one. */
export const PageLink = ({ page, id, words = {}, kept, className, children }: PageLinkProps) => (
  <Link
    to={pathTo(page, id) as never}
    search={((now: Words) => ({ ...(kept ? now : sharedWords(now)), ...words })) as never}
    className={className}
    activeProps={{ 'aria-current': 'page' }}
    activeOptions={{ includeSearch: false }}
  >
    {children}
  </Link>
)
