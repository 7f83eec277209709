import { useEffect, useState } from 'react'
import { Button, Dialog, Form, Input, Label, Modal, ModalOverlay, SearchField } from 'react-aria-components'
import { limits } from '../api/declared/limits.ts'
import { useOpen } from './words.ts'

/** Opened by `/`, from anywhere. */
export const openFind = (): void => void window.dispatchEvent(new Event('tributary:find'))

/** `/`: an id of any kind leads to its page. */
export function FindDialog() {
  const [open, setOpen] = useState(false)
  const [words, setWords] = useState('')
  const openPage = useOpen()
  useFindKey(() => setOpen(true))
  return (
    <>
      <Button className="button find-button" onPress={() => setOpen(true)} aria-label="Find an id">
        <span>Find an id</span>
        <kbd>/</kbd>
      </Button>
      <ModalOverlay className="overlay" isDismissable isOpen={open} onOpenChange={setOpen}>
        <Modal className="modal find-modal">
          <Dialog aria-label="Find an id">
            <Form
              onSubmit={(event) => {
                event.preventDefault()
                if (words.trim() === '') return
                setOpen(false)
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
    </>
  )
}

function useFindKey(onFind: () => void): void {
  useEffect(() => {
    window.addEventListener('tributary:find', onFind)
    return () => window.removeEventListener('tributary:find', onFind)
  }, [onFind])
}
