import { z } from 'zod'
import { ErasureRequest } from '../erasure.ts'
import { limits } from '../limits.ts'
import type { Routes } from '../routes/route.ts'
import { text } from './admin-fields.ts'

const app_id = text(64).describe('Id of the app.')
const { install_uuid } = ErasureRequest.shape
const count = z.number().int()
const rows = z.record(z.string(), count).describe('Rows that were taken away, by table of ClickHouse.')

const RequestErasure = z.strictObject({ app_id, install_uuid })

export const ErasureQueued = z.object({ queued: z.literal(true) })
export type ErasureQueued = z.infer<typeof ErasureQueued>

export const Certificate = z.object({
  state: z
    .enum(['queued', 'draining', 'completed'])
    .describe(
      '`draining`: a run has begun with it, or audit objects that may hold its lines are unreadable. `completed`: no request is newer than the last erasure.',
    ),
  marks: z
    .array(
      z.object({
        requested_at_ms: count.describe('Unix epoch ms.'),
        erased_up_to_ms: count.describe('What was received up to then is erased, Unix epoch ms.'),
      }),
    )
    .describe('Completed erasures, the oldest first.'),
  drained_at_ms: count.nullable().describe('When its rows were last gone from all tables, Unix epoch ms; null before.'),
  rows,
  objects_rewritten: count.describe('Audit objects that were rewritten without its lines.'),
  objects_unreadable: count
    .optional()
    .describe(
      'Audit objects of its app that could not be read or rewritten, and may hold its lines; absent without any. Each run tries again.',
    ),
  version: count.describe('Version of the rules by which it was erased.'),
})
export type Certificate = z.infer<typeof Certificate>

const StartErasureRun = z.strictObject({
  run: count.min(1).optional().describe('Wait for this run; absent: ask for one.'),
})

export const ErasureRun = z.object({
  run: count.describe('Number of the run.'),
  done: z.boolean().describe('False: it goes on; call again with its number.'),
  drained: count.describe('Installs whose rows are gone.'),
  rows,
  batches: z
    .array(z.object({ requests: count, rows: count.describe('Of the table that lost most.') }))
    .describe(`The first ${limits.erasure_batches_listed_max} of its batches.`),
})
export type ErasureRun = z.infer<typeof ErasureRun>

const run_example = {
  run: 7,
  done: true,
  drained: 1,
  rows: { events_raw_v1: 12 },
  batches: [{ requests: 1, rows: 12 }],
}

/** The routes of erasures. */
export const erasureRoutes = {
  requestErasure: {
    method: 'POST',
    path: '/admin/api/v1/erasures',
    auth: 'admin',
    roles: ['owner', 'privacy'],
    over: 'app of body',
    tag: 'Admin',
    summary: 'Ask for the erasure of an install',
    description:
      'Queues it before the requests of SDKs (`POST /privacy/delete`), once its audit object is durable. The next run erases all that was received until it begins. May be repeated.',
    body: { schema: { RequestErasure }, examples: { example: { app_id: 'app_1', install_uuid: 'install-1' } } },
    answers: {
      200: {
        schema: { ErasureQueued },
        description: 'It is queued.',
        example: { queued: true } satisfies ErasureQueued,
      },
    },
    errors: ['unknown_app'],
  },
  getErasure: {
    method: 'GET',
    path: '/admin/api/v1/erasures',
    auth: 'admin',
    roles: ['owner', 'privacy'],
    over: 'app of query',
    tag: 'Admin',
    summary: 'Certificate of an erasure',
    description: 'The state of the erasure of an install. After it only a keyed hash of the id is kept.',
    query: z.object({
      app_id: text(64).meta({ description: 'Id of the app.', example: 'app_1' }),
      install_uuid: install_uuid.meta({ description: 'Id of the install.', example: 'install-1' }),
    }),
    answers: {
      200: {
        schema: { Certificate },
        description: 'The certificate.',
        example: {
          ...{ state: 'completed', drained_at_ms: 1_780_365_606_000, rows: { events_raw_v1: 12 }, version: 1 },
          marks: [{ requested_at_ms: 1_780_315_200_000, erased_up_to_ms: 1_780_365_600_000 }],
          objects_rewritten: 3,
        } satisfies Certificate,
      },
    },
    errors: ['unknown_app', 'unknown_erasure'],
  },
  runErasures: {
    method: 'POST',
    path: '/admin/api/v1/erasures/run',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Erase what is queued now',
    description:
      'Asks the eraser for a run, as it makes one each night at 02:00 UTC. Answers after some seconds, `done` or not; call it again with `run` until it is.',
    body: { schema: { StartErasureRun }, examples: { start: {}, 'go on': { run: 7 } } },
    answers: {
      200: {
        schema: { ErasureRun },
        description: 'What the run has done until now.',
        example: run_example satisfies ErasureRun,
      },
    },
    errors: ['unknown_erasure'],
  },
} satisfies Routes
