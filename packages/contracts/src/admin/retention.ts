import { z } from 'zod'
import type { Routes } from '../routes/route.ts'

const StartRetention = z.strictObject({
  dry_run: z.boolean().default(false).describe('Only count.'),
  run: z.number().int().min(1).optional().describe('A run of an earlier answer, to wait for it.'),
})

/** A run of retention, or with `dry_run` what one would do now. */
export const RetentionRun = z.object({
  run: z.number().int().describe('Number of the run, for the next request.'),
  done: z.boolean(),
  rows: z
    .record(z.string(), z.number().int())
    .describe(
      'Rows by table that were blanked or deleted (`dry_run`: would be). A row that is blanked and deleted counts twice.',
    ),
  objects_blanked: z.number().int().describe('Audit objects that were rewritten. A dry run counts none.'),
  objects_deleted: z.number().int().describe('Audit objects that were deleted. A dry run counts none.'),
  raw_waits: z.boolean().optional().describe('Present where raw events wait for the eraser: a later run deletes them.'),
})
export type RetentionRun = z.infer<typeof RetentionRun>

const example = { run: 7, done: true, rows: { clicks_raw_v1: 12 }, objects_blanked: 3, objects_deleted: 0 }

/** The routes of retention. */
export const retentionRoutes = {
  runRetention: {
    method: 'POST',
    path: '/admin/api/v1/retention/run',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Let retention act now',
    description:
      'Asks housekeeper for a run, as it makes one each night from 03:00 UTC. Answers after some seconds, `done` or not; call it again with `run` until it is.',
    body: { schema: { StartRetention }, examples: { start: {}, 'only count': { dry_run: true }, 'go on': { run: 7 } } },
    answers: {
      200: { schema: { RetentionRun }, description: 'What was done.', example: example satisfies RetentionRun },
    },
  },
} satisfies Routes
