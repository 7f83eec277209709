import { useState } from 'react'
import { Button } from 'react-aria-components'
import { limits } from '../../api/declared/limits.ts'
import { TextInput } from '../../parts/text-input.tsx'
import { Door } from './door.tsx'
import { readToken, useAcceptance } from './query.ts'
import { texts } from './texts.ts'

/** The first link of an installation, or an invitation: a new account, or a role for one that exists. */
export default function Invitation() {
  const [token] = useState(readToken)
  const accept = useAcceptance()
  if (token === '') return <Door title={texts.firstTitle} text={texts.noToken} error={null} pending={false} />
  return (
    <Door
      title={texts.firstTitle}
      text={texts.firstText}
      error={accept.error}
      pending={accept.isPending}
      submit={texts.create}
      onSubmit={({ email = '', password = '' }) => accept.mutate({ token, ...(email !== '' && { email }), password })}
      below={
        <Button className="button link" onPress={() => accept.mutate({ token })}>
          {texts.accept}
        </Button>
      }
    >
      <TextInput
        name="email"
        type="email"
        label={texts.email}
        help={texts.emailHelp}
        autoComplete="username"
        autoFocus
      />
      <NewPassword />
    </Door>
  )
}

export const NewPassword = () => (
  <TextInput
    name="password"
    type="password"
    label={texts.newPassword}
    help={texts.passwordHelp(limits.password_chars_min)}
    autoComplete="new-password"
    minLength={limits.password_chars_min}
    isRequired
  />
)
