import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { routeQuery } from '../../api/queries.ts'
import { useApp } from '../../shell/session.ts'

export function useInstall() {
  const { app_id } = useApp()
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  return useQuery({
    ...routeQuery('getAppInstall', { params: { app_id, install_uuid: id } }),
    placeholderData: undefined,
    // Each look-up is in the audit log: none is made without a person.
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  })
}
