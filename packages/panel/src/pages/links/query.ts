import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call, type Input, type Output } from '../../api/call.ts'
import { reportQuery, routeQuery } from '../../api/queries.ts'
import { day_ms, windowOf } from '../../api/range.ts'
import { useApp } from '../../shell/session.ts'
import { useWords } from '../../shell/words.ts'

export type Link = Output<'listLinks'>['links'][number]

export const useLinks = (app_id: string) =>
  useQuery({ ...routeQuery('listLinks', { query: { app_id } }), placeholderData: undefined })

/** What each link brought in the window of the address. */
export function useBrought(app_id: string) {
  const { since_ms, until_ms } = windowOf(useWords())
  const brought = useQuery(reportQuery('performance', app_id, { since_ms, until_ms, by: 'link_id', group: 'none' }))
  return useMemo(() => new Map(brought.data?.rows.map((row) => [row.link_id, row])), [brought.data])
}
export type Brought = ReturnType<typeof useBrought>

/** A window as short as this one is counted by the hour. */
const hours_max_ms = 2 * day_ms

/** The clicks of a link in the window of the address. Those of another link are never shown under its name. */
export function useLinkClicks(link_id: string) {
  const { app_id } = useApp()
  const window = windowOf(useWords())
  const group = window.until_ms - window.since_ms <= hours_max_ms ? 'hour' : 'day'
  const clicks = useQuery({
    ...routeQuery('listLinkClicks', { params: { app_id, link_id }, query: { ...window, group, limit: 20 } }),
    placeholderData: undefined,
    refetchInterval: 15_000,
  })
  return { window, group, clicks } as const
}

function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: ['listLinks'] }),
  })
}

export const useMakeLink = () => useChange((body: Input<'createLink'>['body']) => call('createLink', { body }))
export const useSwitchLink = (id: string) =>
  useChange((on: boolean) => call(on ? 'enableLink' : 'disableLink', { params: { id } }))
