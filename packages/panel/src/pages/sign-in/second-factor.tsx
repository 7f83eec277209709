import { TextInput } from '../../parts/text-input.tsx'
import { Door } from './door.tsx'
import { useSecondFactor } from './query.ts'
import { texts } from './texts.ts'

/** The code of an authenticator, after the password or the provider. */
export default function SecondFactor() {
  const factor = useSecondFactor()
  return (
    <Door
      title={texts.secondFactor}
      error={factor.error}
      pending={factor.isPending}
      submit={texts.signIn}
      onSubmit={({ code = '' }) => factor.mutate({ code })}
    >
      <TextInput
        name="code"
        label={texts.code}
        help={texts.codeHelp}
        autoComplete="one-time-code"
        inputMode="numeric"
        isRequired
        autoFocus
        mono
      />
    </Door>
  )
}
