import { useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { Skeleton } from '../../parts/skeleton.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { Door } from './door.tsx'
import { useProvider, useSignIn, waysQuery } from './query.ts'
import { texts } from './texts.ts'

/** Password, identity provider, or both: what the installation takes. */
export default function SignIn() {
  const ways = useQuery(waysQuery)
  const signIn = useSignIn()
  const provider = useProvider()
  const error = signIn.error ?? provider.error ?? ways.error
  const byProvider = ways.data?.oidc && (
    <Button className="button" onPress={() => provider.mutate()} isPending={provider.isPending}>
      {texts.continue}
    </Button>
  )
  if (ways.isPending) return <Skeleton shape="shell" />
  if (ways.data?.password === false)
    return <Door title={texts.signIn} text={texts.passwordOff} error={error} pending={false} below={byProvider} />
  return (
    <Door
      title={texts.signIn}
      error={error}
      pending={signIn.isPending}
      submit={texts.signIn}
      onSubmit={({ email = '', password = '' }) => signIn.mutate({ email, password })}
      below={byProvider && <p className="door-below">{byProvider}</p>}
    >
      <TextInput name="email" type="email" label={texts.email} autoComplete="username" isRequired autoFocus />
      <TextInput name="password" type="password" label={texts.password} autoComplete="current-password" isRequired />
    </Door>
  )
}
