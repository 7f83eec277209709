import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input, type Output } from '../../api/call.ts'

export type Company = Output<'listCompanies'>['companies'][number]

/** A change of companies: what the panel knows of them is read again. */
function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: ['places'] }),
  })
}

export const useMakeCompany = () => useChange((body: Input<'createCompany'>['body']) => call('createCompany', { body }))
export const useChangeCompany = (id: string) =>
  useChange((body: Input<'changeCompany'>['body']) => call('changeCompany', { params: { id }, body }))
export const useSuspend = (id: string) =>
  useChange((on: boolean) => call(on ? 'suspendCompany' : 'reinstateCompany', { params: { id } }))

/** How many raw events the next night would delete. */
export const useExpiring = (id: string, keep_raw_days: number) =>
  useQuery({
    queryKey: ['getExpiring', id, keep_raw_days],
    queryFn: ({ signal }) =>
      // The request has text where the handler has a number.
      call('getExpiring', { params: { id }, query: { keep_raw_days: String(keep_raw_days) } } as never, signal),
  })
