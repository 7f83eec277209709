import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { ApiError } from '../api/api-error.ts'
import { call } from '../api/call.ts'
import { Fault } from './fault.tsx'
import { TextInput } from './text-input.tsx'

const texts = {
  title: 'Your password, once more',
  help: 'Keys and secrets need a password of the last 15 minutes.',
  password: 'Password',
  go: 'Go on',
  cancel: 'Cancel',
}

/** Runs what needs a fresh password, and asks for it where the service does. Show `dialog` on the page. */
export function useConfirmed() {
  const [waiting, setWaiting] = useState<(() => void) | null>(null)
  const confirm = useMutation({ mutationFn: (password: string) => call('confirmPassword', { body: { password } }) })
  const run = (work: () => Promise<unknown>) => {
    void work().catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'password_needed')
        setWaiting(() => () => void work().catch(() => {}))
    })
  }
  const dialog = (
    <ModalOverlay className="overlay" isDismissable isOpen={waiting !== null} onOpenChange={() => setWaiting(null)}>
      <Modal className="modal">
        <Dialog>
          <Heading slot="title">{texts.title}</Heading>
          <Form
            className="form"
            onSubmit={(event) => {
              event.preventDefault()
              const password = String(new FormData(event.currentTarget).get('password'))
              confirm.mutate(password, {
                onSuccess: () => {
                  setWaiting(null)
                  waiting?.()
                },
              })
            }}
          >
            <TextInput
              name="password"
              type="password"
              label={texts.password}
              help={texts.help}
              autoComplete="current-password"
              isRequired
              autoFocus
            />
            {confirm.error !== null && <Fault error={confirm.error} />}
            <div className="modal-buttons">
              <Button className="button" onPress={() => setWaiting(null)}>
                {texts.cancel}
              </Button>
              <Button type="submit" className="button primary" isPending={confirm.isPending}>
                {texts.go}
              </Button>
            </div>
          </Form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
  return { run, dialog }
}

/** Whether an error is shown: one that only asks for the password is not. */
export const isFault = (error: unknown): boolean =>
  error !== null && !(error instanceof ApiError && error.code === 'password_needed')
