import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Input, type Output } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

type Draft = Input<'publishCvSchema'>['body']['schema']
export type Postback = NonNullable<Output<'getCvSchema'>['schema']>['postbacks'][number]
export type Change = Output<'compareCvSchema'>['changes'][number]

/** A version of the schema of an app; the live one without a number. */
export const useSchema = (app_id: string, version?: string) =>
  useQuery({
    ...routeQuery('getCvSchema', { query: version === undefined ? { app_id } : { app_id, version } }),
    placeholderData: undefined,
  })

export const useCompare = (app_id: string) =>
  useMutation({
    mutationFn: async (text: string) => {
      const schema = JSON.parse(text) as Draft
      return { schema, ...(await call('compareCvSchema', { body: { app_id, schema } })) }
    },
  })

export function usePublish(app_id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (schema: Draft) => call('publishCvSchema', { body: { app_id, schema } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['getCvSchema'] }),
  })
}
