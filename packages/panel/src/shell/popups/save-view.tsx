import { Button, Dialog, Form, Popover } from 'react-aria-components'
import { CopyButton } from '../../parts/copy-button.tsx'
import { givenOf } from '../../parts/given.ts'
import type { Opened } from '../../parts/opener.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { dropView, saveView } from '../preferences.ts'

const texts = {
  title: 'Save this view',
  name: 'Name',
  help: 'Kept in this browser, in the rail. Its link shows the same to whoever may see it.',
  keep: 'Save',
  copy: 'Copy the link',
}

const name_chars_max = 60

interface SaveViewProps extends Opened {
  address: string
  /** Its name, if it has one. */
  saved: string | undefined
}

/** The name of an address. */
export default function SaveViewForm({ address, saved, ...popover }: SaveViewProps) {
  return (
    <Popover {...popover} className="popover" placement="bottom start">
      <Dialog aria-label={texts.title} className="save-view">
        <Form
          className="form"
          onSubmit={(event) => {
            event.preventDefault()
            const name = givenOf(event.currentTarget)('name')
            if (name === undefined) return
            if (saved !== undefined) dropView(saved)
            saveView({ name, address })
            popover.onOpenChange(false)
          }}
        >
          <TextInput
            name="name"
            label={texts.name}
            help={texts.help}
            defaultValue={saved ?? ''}
            maxLength={name_chars_max}
            isRequired
            autoFocus
          />
          <div className="line">
            <Button type="submit" className="button primary">
              {texts.keep}
            </Button>
            <CopyButton text={location.href} label={texts.copy} />
          </div>
        </Form>
      </Dialog>
    </Popover>
  )
}
