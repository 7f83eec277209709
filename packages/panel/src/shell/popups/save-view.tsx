import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button, Dialog, Form, Popover } from 'react-aria-components'
import { call } from '../../api/call.ts'
import { limits } from '../../api/declared/limits.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Fault } from '../../parts/fault.tsx'
import { givenOf } from '../../parts/given.ts'
import type { Opened } from '../../parts/opener.tsx'
import { TextInput } from '../../parts/text-input.tsx'
import { dropView, saveView } from '../preferences.ts'

const texts = {
  title: 'Save this view',
  name: 'Name',
  help: 'It stands in the rail of this browser, or with the box below of everybody: then it replaces a view of the same name, and unticking removes it for all.',
  share: 'Show it to everybody who may see this app',
  keep: 'Save',
  copy: 'Copy the link',
}

interface SaveViewProps extends Opened {
  address: string
  /** Its name in this browser, if it has one. */
  own: string | undefined
  /** The name under which all have it. */
  shared: string | undefined
  /** The app whose people it may be shared with. */
  app_id: string | null
}

/** The name of an address. */
export default function SaveViewForm({ address, own, shared, app_id, ...popover }: SaveViewProps) {
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: async ({ name, isShared }: { name: string; isShared: boolean }) => {
      const params = { app_id: app_id ?? '' }
      if (isShared) await call('saveView', { params, body: { name, address } })
      if (shared !== undefined && (shared !== name || !isShared))
        await call('removeView', { params, body: { name: shared } })
      if (own !== undefined) dropView(own)
      if (!isShared) saveView({ name, address })
    },
    onSuccess: () => popover.onOpenChange(false),
    onSettled: () => client.invalidateQueries({ queryKey: ['listViews'] }),
  })
  return (
    <Popover {...popover} className="popover" placement="bottom start">
      <Dialog aria-label={texts.title} className="save-view">
        <Form
          className="form"
          onSubmit={(event) => {
            event.preventDefault()
            const given = givenOf(event.currentTarget)
            const name = given('name')
            if (name !== undefined) save.mutate({ name, isShared: given('shared') !== undefined })
          }}
        >
          <TextInput
            name="name"
            label={texts.name}
            help={texts.help}
            defaultValue={own ?? shared ?? ''}
            maxLength={limits.view_name_chars_max}
            isRequired
            autoFocus
          />
          {app_id !== null && (
            <label className="check">
              <input type="checkbox" name="shared" defaultChecked={shared !== undefined} /> {texts.share}
            </label>
          )}
          {save.error !== null && <Fault error={save.error} />}
          <div className="line">
            <Button type="submit" className="button primary" isPending={save.isPending}>
              {texts.keep}
            </Button>
            <CopyButton text={location.href} label={texts.copy} />
          </div>
        </Form>
      </Dialog>
    </Popover>
  )
}
