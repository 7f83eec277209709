import './early/early.ts'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { I18nProvider } from 'react-aria-components'
import { createRoot } from 'react-dom/client'
import { isSessionOver } from './api/api-error.ts'
import { mayRetry, retryAfter } from './api/queries.ts'
import { isDoor, ownPath } from './pages/doors.ts'
import { createPanelRouter } from './router.ts'
import { applyTheme, readTheme } from './shell/preferences.ts'
import { forgetPerson, prefetchPlaces } from './shell/session.ts'
import './style/base.css'
import './style/controls.css'
import './style/shell.css'
import './style/parts.css'

/** A session that ends leads to the sign-in, which leads back to the same address. */
const onError = (error: unknown) => {
  if (!isSessionOver(error)) return
  const { pathname, search } = router.state.location
  if (isDoor(pathname)) return
  forgetPerson()
  void router.navigate({
    to: '/sign-in',
    search: { next: `${pathname}${router.state.location.searchStr ?? search}` },
  } as never)
}

const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  defaultOptions: {
    queries: { retry: mayRetry, retryDelay: retryAfter, staleTime: 10_000, refetchOnWindowFocus: true },
  },
})
const router = createPanelRouter(client)

applyTheme(readTheme())
if (!isDoor(ownPath())) void prefetchPlaces(client)
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <I18nProvider locale="en-GB">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </I18nProvider>
  </StrictMode>,
)
