import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call, type Input, type Output } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'

export type Partner = Output<'listPartners'>['partners'][number]
export type Delivery = Output<'listDeliveries'>['deliveries'][number]
export type NewSettings = Input<'setPartner'>['body']
type Shown = Input<'previewPartner'>['body']

/** Tries that the log shows. */
export const deliveries_max = 100
const refresh_ms = 15_000
/** Pause in typing before a preview is requested. */
const pause_ms = 400

export const usePartners = (app_id: string) =>
  useQuery({
    ...routeQuery('listPartners', { query: { app_id } }),
    placeholderData: undefined,
    refetchInterval: refresh_ms,
  })

export const useDeliveries = (app_id: string, partner: string, dead: '0' | '1') =>
  useQuery({
    ...routeQuery('listDeliveries', { query: { app_id, partner, dead, limit: deliveries_max } }),
    placeholderData: undefined,
    refetchInterval: refresh_ms,
  })

/** A postback as it would be sent, after a pause in typing. Nothing is requested before there is an address. */
export function usePreview(given: Shown) {
  const [shown, setShown] = useState(given)
  const key = JSON.stringify(given)
  useEffect(() => {
    const timer = setTimeout(() => setShown(JSON.parse(key) as Shown), pause_ms)
    return () => clearTimeout(timer)
  }, [key])
  return useQuery({
    ...routeQuery('previewPartner', { body: shown }),
    enabled: shown.partner !== '' && shown.postback_url.length > 'https://'.length,
    retry: false,
  })
}

function useChange<Given, Answer>(change: (given: Given) => Promise<Answer>) {
  const client = useQueryClient()
  const renew = () =>
    Promise.all(['listPartners', 'listDeliveries'].map((name) => client.invalidateQueries({ queryKey: [name] })))
  return useMutation({ mutationFn: change, onSuccess: renew })
}

export const useSetPartner = () => useChange((body: NewSettings) => call('setPartner', { body }))

/** The actions on a partner that has settings. */
export function usePartner({ app_id, partner }: Pick<Partner, 'app_id' | 'partner'>) {
  const body = { app_id, partner }
  return {
    test: useChange(() => call('testPartner', { body })),
    retry: useChange(() => call('retryPartner', { body })),
    remove: useChange(() => call('removePartner', { body })),
  }
}
