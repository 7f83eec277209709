import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import type { Me } from '@tributary/contracts/admin/people/own-account'
import { call, forgetAnswers, keepCsrfToken, type Output } from '../api/call.ts'
import { keepPublicUrl } from '../api/public-address.ts'
import { keepMemberships } from './preferences.ts'
import { companiesOf } from './roles.ts'
import { useWords } from './words.ts'

type Company = Output<'listCompanies'>['companies'][number]
export type App = Output<'listApps'>['apps'][number]

export const meQuery = queryOptions({
  queryKey: ['getMe'],
  queryFn: async ({ signal }) => {
    const me = await call('getMe', {}, signal)
    keepCsrfToken(me.csrf_token)
    keepPublicUrl(me.public_url)
    keepMemberships(me.memberships)
    return me
  },
  staleTime: 60_000,
})

export interface Place {
  me: Me
  companies: Company[]
  /** The apps that the person may see, by company. */
  apps: App[]
  /** The app of the address; the first one on a page that shows one app. */
  app: App | null
  company: Company | null
}

const placesQuery = (me: Me | undefined) =>
  queryOptions({
    queryKey: ['places', me?.memberships],
    enabled: me !== undefined,
    queryFn: async ({ signal }) => {
      const held = me === undefined ? [] : companiesOf(me)
      const [{ companies }, ...lists] = await Promise.all([
        call('listCompanies', {}, signal),
        ...held.map((company_id) => call('listApps', { query: { company_id } }, signal)),
      ])
      const appsOf = new Map(lists.map(({ apps }, n) => [held[n], apps]))
      return { companies, apps: companies.flatMap(({ company_id }) => appsOf.get(company_id) ?? []) }
    },
    staleTime: 60_000,
  })

/** Requests who is here, and of which apps, beside the script of the page, which waits for both. */
export async function prefetchPlaces(client: QueryClient): Promise<void> {
  await client.prefetchQuery(meQuery)
  const me = client.getQueryData(meQuery.queryKey)
  if (me !== undefined) await client.prefetchQuery(placesQuery(me))
}

/** Who is here, and of which app the page is. Undefined until it is known. */
export function usePlaces() {
  const me = useQuery(meQuery)
  const places = useQuery(placesQuery(me.data))
  return { me, places, error: me.error ?? places.error }
}

/** The same below the shell, which waits for it. */
export function usePlace(): Place {
  const { me, places } = usePlaces()
  const words = useWords()
  if (me.data === undefined || places.data === undefined)
    throw new Error('the shell shows no page before it knows who is here')
  const { companies, apps } = places.data
  const app = apps.find(({ app_id }) => app_id === words.app) ?? null
  const company_id = app?.company_id ?? words.company ?? apps[0]?.company_id
  const company = companies.find((one) => one.company_id === company_id) ?? companies[0] ?? null
  return { me: me.data, companies, apps, app, company }
}

/** The app of a page that shows one: the shell has put it into the address. */
export function useApp(): App {
  const { app } = usePlace()
  if (app === null) throw new Error('this page needs an app in its address')
  return app
}

/** The session ends: nobody else gets to know what this person saw and could do. */
export function forgetPerson(): void {
  forgetAnswers()
  keepMemberships(null)
}
