import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { doors } from './pages/doors.ts'
import { type Page, pages } from './pages/pages.ts'
import { NotFound } from './shell/not-found.tsx'
import { PageFault } from './shell/page-fault.tsx'
import { readLastPage } from './shell/preferences.ts'
import { Shell } from './shell/shell.tsx'
import { parseWords, writeWords } from './shell/words.ts'

/** Every page, lazily: the first load is the shell and one page. */
export function createPanelRouter(client: QueryClient) {
  const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound })
  const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: Shell })
  const first = createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad: () => {
      throw redirect({ href: readLastPage() ?? '/overview' } as never)
    },
  })
  const ofPages = (pages as readonly Page[]).map((page) =>
    createRoute({
      getParentRoute: () => inside,
      path: `/${page.name}${page.id ? '/$id' : ''}`,
      component: lazyRouteComponent(page.load),
    }),
  )
  const ofDoors = Object.entries(doors).map(([path, load]) =>
    createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load) }),
  )
  return createRouter({
    routeTree: root.addChildren([first, ...ofDoors, inside.addChildren(ofPages)]),
    basepath: '/admin',
    context: { client },
    parseSearch: parseWords,
    stringifySearch: writeWords,
    defaultPreload: 'intent',
    defaultErrorComponent: PageFault,
    scrollRestoration: false,
  })
}
