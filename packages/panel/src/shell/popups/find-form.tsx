import { useState } from 'react'
import { Dialog, Form, Input, Label, Modal, ModalOverlay, SearchField } from 'react-aria-components'
import { limits } from '../../api/declared/limits.ts'
import { useOpen } from '../words.ts'

/** Where an id is pasted. */
export default function FindForm({ onClose }: { onClose: () => void }) {
  const [words, setWords] = useState('')
  const openPage = useOpen()
  return (
    <ModalOverlay className="overlay" isDismissable isOpen onOpenChange={onClose}>
      <Modal className="modal find-modal">
        <Dialog aria-label="Find an id">
          <Form
            onSubmit={(event) => {
              event.preventDefault()
              if (words.trim() === '') return
              onClose()
              openPage('find', { q: words.trim() })
            }}
          >
            <SearchField
              value={words}
              onChange={setWords}
              autoFocus
              maxLength={limits.find_chars_max}
              className="search"
            >
              <Label>Install, user, transaction, event or click</Label>
              <Input className="input large" placeholder="Paste an id, press Enter" />
            </SearchField>
          </Form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
