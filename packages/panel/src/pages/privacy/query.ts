import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError } from '../../api/api-error.ts'
import { call, type Output } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

export type Certificate = Output<'getErasure'>

/** The certificate of an install; one that is not complete is asked for again by itself. */
export const useErasure = (app_id: string, install_uuid: string) =>
  useQuery({
    ...routeQuery('getErasure', { query: { app_id, install_uuid } }),
    placeholderData: undefined,
    refetchInterval: ({ state }) => (state.data === undefined || state.data.state === 'completed' ? false : 5000),
  })

/** Nobody asked for it: no fault, but an answer. */
export const isUnknown = (error: unknown): boolean => error instanceof ApiError && error.code === 'unknown_erasure'

export function useRequest(app_id: string, install_uuid: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => call('requestErasure', { body: { app_id, install_uuid } }),
    onSuccess: () => client.resetQueries({ queryKey: ['getErasure'] }),
  })
}

/** Runs until it is done: each answer comes after some seconds. */
export function useRun() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async () => {
      let answer = await call('runErasures', { body: {} })
      while (!answer.done) answer = await call('runErasures', { body: { run: answer.run } })
      return answer
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['getErasure'] }),
  })
}
