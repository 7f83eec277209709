import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

export const useSessions = () => useQuery(routeQuery('listSessions', {}))

/** A change of the own account: what is known of it is read again. */
function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['getMe'] }),
        client.invalidateQueries({ queryKey: ['listSessions'] }),
      ]),
  })
}

export const useEndSession = () => useChange((id: string) => call('revokeSession', { params: { id } }))
export const useChangePassword = () =>
  useChange((body: Input<'changePassword'>['body']) => call('changePassword', { body }))
export const useOfferTotp = () => useChange((_: undefined) => call('offerTotp', {}))
export const useConfirmTotp = () => useChange((code: string) => call('confirmTotp', { body: { code } }))
export const useDisableTotp = () => useChange((_: undefined) => call('disableTotp', {}))
