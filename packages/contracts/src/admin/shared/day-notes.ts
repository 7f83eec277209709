import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, name } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from '../rows/app-params.ts'

const WriteNote = z.strictObject({
  day: z.iso
    .date()
    .refine((day) => day >= limits.note_day_min, `must be from ${limits.note_day_min} on`)
    .describe(`UTC, from ${limits.note_day_min} on.`),
  text: name.max(limits.note_chars_max),
})

const DayNote = z.object({
  note_id: z.string(),
  ...WriteNote.shape,
  written_by: z.string().nullable().describe('Email. null: the admin token, or a person who is removed.'),
  written_at_ms: z.number().int(),
})
export type DayNote = z.infer<typeof DayNote>

const DayNotes = z.object({ notes: z.array(DayNote) })
const RemoveNote = z.strictObject({ note_id: z.string() })
const NoteRemoved = z.object({ note_id: z.string(), status: z.literal('removed') })

const given = { day: '2026-06-01', text: 'Release 2.1' }
const note = {
  ...{ note_id: 'note_1', ...given, written_by: 'ada@example.com', written_at_ms: created_at_ms },
} satisfies DayNote
const shared = { auth: 'admin', roles: readers, over: 'app of path', tag: 'Admin', params: appParams } as const
const path = '/admin/api/v1/apps/:app_id/notes'

/** Notes on what happened on a day. Charts over days show them. */
export const dayNoteRoutes = {
  listNotes: {
    ...{ ...shared, method: 'GET', path },
    summary: 'Notes on days of an app',
    answers: { 200: { schema: { DayNotes }, description: 'By day.', example: { notes: [note] } } },
    errors: ['unknown_app'],
  },
  writeNote: {
    ...{ ...shared, method: 'POST', path },
    summary: 'Write a note on a day',
    description: `An app holds at most ${limits.app_notes_max} notes.`,
    body: { schema: { WriteNote }, examples: { example: given } },
    answers: { 200: { schema: { DayNote }, description: 'The note.', example: note } },
    errors: ['unknown_app'],
  },
  removeNote: {
    ...{ ...shared, method: 'POST', path: `${path}/remove` },
    summary: 'Remove a note',
    body: { schema: { RemoveNote }, examples: { example: { note_id: note.note_id } } },
    answers: {
      200: {
        schema: { NoteRemoved },
        description: 'The note is removed, or did not exist.',
        example: { note_id: note.note_id, status: 'removed' },
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
