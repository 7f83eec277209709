import { useState } from 'react'
import { Door } from './door.tsx'
import { NewPassword } from './invitation.tsx'
import { readToken, useReset } from './query.ts'
import { texts } from './texts.ts'

/** A new password, by the link of an operator. */
export default function Reset() {
  const [token] = useState(readToken)
  const reset = useReset()
  if (token === '') return <Door title={texts.resetTitle} text={texts.noToken} error={null} pending={false} />
  return (
    <Door
      title={texts.resetTitle}
      text={texts.resetText}
      error={reset.error}
      pending={reset.isPending}
      submit={texts.save}
      onSubmit={({ password = '' }) => reset.mutate({ token, password })}
    >
      <NewPassword />
    </Door>
  )
}
