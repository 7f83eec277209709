import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

export const useServerKeys = (app_id: string) =>
  useQuery({ ...routeQuery('listServerKeys', { query: { app_id } }), placeholderData: undefined })

/** A change of apps or keys: what the panel shows of them is read again. */
function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['places'] }),
        client.invalidateQueries({ queryKey: ['listServerKeys'] }),
      ]),
  })
}

export const useMintKey = () => useChange((body: Input<'createServerKey'>['body']) => call('createServerKey', { body }))
export const useRevokeKey = () => useChange((id: string) => call('revokeServerKey', { params: { id } }))
export const useRotate = () => useChange((id: string) => call('rotateSigningSecret', { params: { id }, body: {} }))
export const useSetStores = (id: string) =>
  useChange((body: Input<'setStoreCredentials'>['body']) => call('setStoreCredentials', { params: { id }, body }))
export const useCheckStore = (id: string) => useMutation({ mutationFn: () => call('checkStore', { params: { id } }) })
export const useChangeApp = (id: string) =>
  useChange((body: Input<'changeApp'>['body']) => call('changeApp', { params: { id }, body }))
