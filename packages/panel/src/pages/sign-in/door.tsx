import type { FormEvent, ReactNode } from 'react'
import { Button, Form } from 'react-aria-components'
import { Fault } from '../../parts/fault.tsx'

interface DoorProps {
  title: string
  text?: string
  error: unknown
  pending: boolean
  submit?: string
  onSubmit?: (words: Record<string, string>) => void
  children?: ReactNode
  below?: ReactNode
}

/** A page without the shell: one form. */
export function Door({ title, text, error, pending, submit, onSubmit, children, below }: DoorProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const given = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)])
    onSubmit?.(Object.fromEntries(given))
  }
  return (
    <main className="door">
      <p className="brand">Tributary</p>
      <h1>{title}</h1>
      {text && <p className="quiet">{text}</p>}
      {onSubmit && (
        <Form onSubmit={send} className="form">
          {children}
          {error !== null && <Fault error={error} />}
          <Button type="submit" className="button primary" isPending={pending}>
            {submit}
          </Button>
        </Form>
      )}
      {!onSubmit && error !== null && <Fault error={error} />}
      {below}
    </main>
  )
}
