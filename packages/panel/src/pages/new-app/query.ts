import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call, type Input } from '../../api/call.ts'

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
