import { z } from 'zod'
import type { Routes } from '../../routes/route.ts'

const StartReconcile = z.strictObject({
  since_ms: z
    .number()
    .int()
    .min(0)
    .max(Date.UTC(2100, 0, 1))
    .optional()
    .describe('From the UTC day of this time on, Unix epoch ms; absent: of yesterday.'),
  app_id: z.string().optional().describe('Only this app; postbacks, which name none, are left out.'),
})
export type StartReconcile = z.infer<typeof StartReconcile>

/** Work as admin-api asks the reconciler for it; the id of the request stands in the log of both. */
export const AskedReconcile = StartReconcile.extend({ request_id: z.string() })
export type AskedReconcile = z.infer<typeof AskedReconcile>

export const Difference = z.object({
  app_id: z.string().describe('Empty for postbacks, which name no app.'),
  hour: z.iso.datetime().describe('Hour of receipt; for sums and figures of a day its first hour.'),
  store: z
    .string()
    .describe('What differs: a table, `audit` (objects), or `events.accepted.v1` (events that came to no writer).'),
  expected: z.number().describe('What should be there.'),
  found: z.number().describe('What is there.'),
  examples: z.array(z.string()).describe('Where, in words; some of them.'),
})
export type Difference = z.infer<typeof Difference>

/** One line of the answer to `POST /reconcile`. */
export const ReconcileProgress = z.object({
  state: z.enum(['running', 'done', 'stopped', 'failed']).describe('The last line is `done`, `stopped` or `failed`.'),
  at: z.string().describe('How far it has come, in words.'),
  hours: z.number().int().describe('Hours of apps that were compared; 0 until the last line.'),
  differences: z.array(Difference).describe('The first 1,000 by hour; none until the last line.'),
  left_out: z.number().int().describe('Further differences, which are neither named nor stored.'),
  error: z.string().optional().describe('Code of `failed`.'),
})
export type ReconcileProgress = z.infer<typeof ReconcileProgress>

export const noReconcileProgress: ReconcileProgress = {
  ...{ state: 'running', at: '', hours: 0, differences: [], left_out: 0 },
}

/** The route of the reconciler. */
export const reconcileRoutes = {
  reconcile: {
    method: 'POST',
    path: '/admin/api/v1/reconcile',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Compare audit store, log and tables',
    description:
      'Compares audit objects, keys, raw rows, sums, settled figures, clicks and postbacks by app and hour, up to now, and changes none of them. A job does the same with each closed hour. The answer is one line of JSON a second; the last has the result. It runs as long as the request: closing the connection stops it.',
    body: { schema: { StartReconcile }, examples: { example: { since_ms: Date.UTC(2026, 5, 1) } } },
    answers: { 200: { schema: { ReconcileProgress }, form: 'lines', description: 'Lines of `ReconcileProgress`.' } },
    errors: ['unknown_app', 'reconcile_running'],
  },
} satisfies Routes
