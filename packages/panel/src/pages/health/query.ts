import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, type Output } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'
import type { Place } from '../../shell/session.ts'

export type Status = Output<'getStatus'>
type Company = Place['companies'][number]
export type CompanyUse = Company & { use: Output<'getCompanyUsage'> | undefined }

const refresh_ms = 5000

export const useStatus = () => useQuery({ ...routeQuery('getStatus', {}), refetchInterval: refresh_ms })
export const useProcess = () => useQuery({ ...routeQuery('getHealth', {}), refetchInterval: refresh_ms })
export const useDeadLetters = () =>
  useQuery({ ...routeQuery('listDeadLetters', { query: {} }), refetchInterval: 30_000 })

export function useRetry() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => call('retryDeadLetters', { body: {} }),
    onSettled: () => client.invalidateQueries({ queryKey: ['listDeadLetters'] }),
  })
}

/** What each company used of its month. */
export function useCompanyUses(companies: readonly Company[]) {
  return useQueries({
    queries: companies.map(({ company_id }) => ({
      ...routeQuery('getCompanyUsage', { params: { id: company_id }, query: {} }),
      refetchInterval: 60_000,
    })),
    combine: (answers) => ({
      error: answers.find(({ error }) => error !== null)?.error ?? null,
      uses: companies.map((company, n): CompanyUse => ({ ...company, use: answers[n]?.data })),
      refetch: () => void Promise.all(answers.map(({ refetch }) => refetch())),
    }),
  })
}
