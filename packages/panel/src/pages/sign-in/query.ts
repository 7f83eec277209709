import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { call, type Input, keepCsrfToken } from '../../api/call.ts'
import { routeQuery } from '../../api/queries.ts'
import { useWords } from '../../shell/words.ts'

export const waysQuery = { ...routeQuery('getSignInWays', {}), staleTime: 60_000 }

/** Leads on after a sign-in: to where the person wanted to go. Only addresses of the panel count. */
function useGoOn() {
  const navigate = useNavigate()
  const client = useQueryClient()
  const { next: address } = useWords()
  return (next: 'done' | 'second_factor') => {
    client.clear()
    if (next === 'second_factor') void navigate({ to: '/second-factor', search: { next: address } } as never)
    else void navigate({ href: address?.startsWith('/') && !/^\/[/\\]/.test(address) ? `/admin${address}` : '/admin/' })
  }
}

export function useSignIn() {
  const goOn = useGoOn()
  return useMutation({
    mutationFn: (body: Input<'signIn'>['body']) => call('signIn', { body }),
    onSuccess: ({ csrf_token, next }) => {
      keepCsrfToken(csrf_token)
      goOn(next)
    },
  })
}

export function useSecondFactor() {
  const goOn = useGoOn()
  return useMutation({
    mutationFn: (body: Input<'secondFactor'>['body']) => call('secondFactor', { body }),
    onSuccess: ({ csrf_token, next }) => {
      keepCsrfToken(csrf_token)
      goOn(next)
    },
  })
}

/** The provider sends the browser back to the panel. */
export const useProvider = () =>
  useMutation({
    mutationFn: () => call('beginOidcSignIn', {}),
    onSuccess: ({ authorization_url }) => location.assign(authorization_url),
  })

/** Accepts an invitation. A new account signs in at once, with the password that was just chosen. */
export function useAcceptance() {
  const signIn = useSignIn()
  const goOn = useGoOn()
  return useMutation({
    mutationFn: async (body: Input<'acceptInvitation'>['body']) => {
      const { email, next } = await call('acceptInvitation', { body })
      if (next === 'sign_in' && body.password !== undefined)
        await signIn.mutateAsync({ email, password: body.password })
      else goOn('done')
    },
  })
}

export function useReset() {
  const signIn = useSignIn()
  return useMutation({
    mutationFn: async (body: Input<'useReset'>['body']) => {
      const { email } = await call('useReset', { body })
      await signIn.mutateAsync({ email, password: body.password })
    },
  })
}

/** The secret of a link is behind `#`: no server and no log sees it. */
export const readToken = (): string => location.hash.replace(/^#/, '')
