import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input } from '../../api/call.ts'
import { reportQuery } from '../../api/queries.ts'
import { windowOf } from '../../api/range.ts'
import { useFeed } from '../live/query.ts'

type NewApp = Omit<Input<'createApp'>['body'], 'company_id'>

/** Makes an app, which needs a company of the person. */
export function useMakeApp() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async (body: NewApp & { company_id: string }) => ({
      ...(await call('createApp', { body })),
      company_id: body.company_id,
    }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['places'] }),
  })
}

/**
 * The first event of an app, and why one was refused. The live view sees it first; it misses what comes before gateways know that
 * somebody watches, and the report does not.
 */
export function useFirstEvent(app_id: string) {
  const { items } = useFeed(app_id, {}, false)
  const seen = items.find(({ kind }) => kind === 'accepted')?.event_name
  const written = useQuery({
    ...reportQuery('events', app_id, { ...windowOf({}) }),
    enabled: seen === undefined,
    refetchInterval: ({ state }) => (state.data?.rows.length ? false : 1500),
  })
  return {
    accepted: seen ?? written.data?.rows[0]?.event_name,
    refused: items.find(({ kind }) => kind !== 'accepted'),
  }
}
