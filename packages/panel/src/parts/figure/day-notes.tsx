import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { DayNote } from '@tributary/contracts/admin/day-notes'
import { Button, Dialog, Form, Popover } from 'react-aria-components'
import { call } from '../../api/call.ts'
import { serverNow } from '../../api/clock.ts'
import { limits } from '../../api/declared/limits.ts'
import { longDay } from '../../api/numbers.ts'
import { routeQuery } from '../../api/queries.ts'
import { toDay } from '../../api/range.ts'
import { usePlace } from '../../shell/session.ts'
import { Fault } from '../fault.tsx'
import { givenOf } from '../given.ts'
import type { Opened } from '../opener.tsx'
import { TextInput } from '../text-input.tsx'

const texts = {
  title: 'Notes on days',
  help: 'Shown in the charts of this app, to everybody who may see it.',
  day: 'Day (UTC)',
  text: 'Note',
  example: 'Release 2.1',
  write: 'Add the note',
  remove: (text: string) => `Remove the note ${text}`,
}

/** The notes of the app of the page. */
export function useDayNotes(): readonly DayNote[] {
  const app_id = usePlace().app?.app_id
  const { data } = useQuery({
    ...routeQuery('listNotes', { params: { app_id: app_id ?? '' } }),
    ...{ enabled: app_id !== undefined, placeholderData: undefined, staleTime: 60_000 },
  })
  return data?.notes ?? []
}

/** Writes a note on a day, and removes what stands. */
export default function DayNotes({ app_id, ...popover }: Opened & { app_id: string }) {
  const notes = useDayNotes()
  const client = useQueryClient()
  const onSettled = () => client.invalidateQueries({ queryKey: ['listNotes'] })
  const write = useMutation({
    mutationFn: (body: { day: string; text: string }) => call('writeNote', { params: { app_id }, body }),
    onSettled,
  })
  const remove = useMutation({
    mutationFn: (note_id: string) => call('removeNote', { params: { app_id }, body: { note_id } }),
    onSettled,
  })
  return (
    <Popover {...popover} className="popover" placement="bottom end">
      <Dialog aria-label={texts.title} className="save-view">
        <p className="quiet">{texts.help}</p>
        {notes.length > 0 && (
          <ul className="day-notes">
            {notes.map(({ note_id, day, text, written_by }) => (
              <li key={note_id} title={written_by ?? undefined}>
                <span className="wrap">
                  {longDay(day)}: {text}
                </span>
                <Button className="tag-remove" aria-label={texts.remove(text)} onPress={() => remove.mutate(note_id)}>
                  <span aria-hidden="true">×</span>
                </Button>
              </li>
            ))}
          </ul>
        )}
        <Form
          className="form"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            const given = givenOf(form)
            write.mutate({ day: given('day') ?? '', text: given('text') ?? '' }, { onSuccess: () => form.reset() })
          }}
        >
          <TextInput name="day" label={texts.day} type="date" defaultValue={toDay(serverNow())} isRequired />
          <TextInput
            name="text"
            label={texts.text}
            placeholder={texts.example}
            maxLength={limits.note_chars_max}
            isRequired
            autoFocus
          />
          {(write.error ?? remove.error) !== null && <Fault error={write.error ?? remove.error} />}
          <div>
            <Button type="submit" className="button primary" isPending={write.isPending}>
              {texts.write}
            </Button>
          </div>
        </Form>
      </Dialog>
    </Popover>
  )
}
