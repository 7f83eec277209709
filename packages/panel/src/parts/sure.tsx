import { useMutation } from '@tanstack/react-query'
import { Button, Dialog, DialogTrigger, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Fault } from './fault.tsx'

interface SureProps {
  /** What the button does. */
  action: string
  /** What it is done to. */
  subject: string
  /** What follows from it. */
  help: string
  work: () => Promise<unknown>
}

/** A button that asks before it does what cannot be undone by the next click. */
export function Sure({ action, subject, help, work }: SureProps) {
  const done = useMutation({ mutationFn: work })
  return (
    <DialogTrigger>
      <Button className="button small danger" aria-label={`${action} ${subject}`}>
        {action}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog role="alertdialog">
            {({ close }) => (
              <>
                <Heading slot="title" className="wrap">
                  {subject}
                </Heading>
                <p>{help}</p>
                {done.error !== null && <Fault error={done.error} />}
                <div className="modal-buttons">
                  <Button className="button" onPress={close} autoFocus>
                    Cancel
                  </Button>
                  <Button
                    className="button danger"
                    isPending={done.isPending}
                    onPress={() => done.mutate(undefined, { onSuccess: close })}
                  >
                    {action}
                  </Button>
                </div>
              </>
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}
