import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input, type Output } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

export type Person = Output<'listPeople'>['people'][number]

export const usePeople = (company_id: string | undefined) =>
  useQuery({
    ...routeQuery('listPeople', { query: company_id === undefined ? {} : { company_id } }),
    placeholderData: undefined,
  })

/** A change of people: the list is read again, and what the person sees, who may have changed the own role. */
function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ['listPeople'] }),
        client.invalidateQueries({ queryKey: ['getMe'] }),
      ]),
  })
}

export const useInvite = () => useChange((body: Input<'invitePerson'>['body']) => call('invitePerson', { body }))
export const useChangeRole = () => useChange((body: Input<'changePerson'>['body']) => call('changePerson', { body }))
export const useRemove = () => useChange((body: Input<'removePerson'>['body']) => call('removePerson', { body }))
export const useReset = () =>
  useMutation({ mutationFn: (body: Input<'resetPerson'>['body']) => call('resetPerson', { body }) })
