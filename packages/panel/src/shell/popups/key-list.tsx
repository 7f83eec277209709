import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import type { Page } from '../../pages/pages.ts'

/** Which keys act. */
export default function KeyList({ pages, onClose }: { pages: readonly Page[]; onClose: () => void }) {
  return (
    <ModalOverlay className="overlay" isDismissable isOpen onOpenChange={onClose}>
      <Modal className="modal">
        <Dialog>
          {({ close }) => (
            <>
              <Heading slot="title">Keys</Heading>
              <dl className="keys">
                <Key keys="/" text="Find an id" />
                {pages.map(({ name, key, title }) => (
                  <Key key={name} keys={`g ${key}`} text={title} />
                ))}
                <Key keys="?" text="This list" />
                <Key keys="Esc" text="Close" />
              </dl>
              <p className="quiet">The menu of your account switches these keys off.</p>
              <Button className="button" onPress={close}>
                Close
              </Button>
            </>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

const Key = ({ keys, text }: { keys: string; text: string }) => (
  <div>
    <dt>
      {keys.split(' ').map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{text}</dd>
  </div>
)
