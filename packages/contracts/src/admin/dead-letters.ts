import { z } from 'zod'
import type { Routes } from '../routes/route.ts'
import { text } from './admin-fields.ts'

/** Dead letters that wait, by topic and reason; `too_large` are those that can't be retried. */
const DeadLetters = z.object({
  dead: z.array(
    z.object({
      topic: z.string().describe('The topic that the records came from.'),
      reason: z.string(),
      count: z.number().int(),
      first_ms: z.number().int().describe('When the oldest of them became a dead letter.'),
      last_ms: z.number().int().describe('When the newest of them became a dead letter.'),
    }),
  ),
})
export type DeadLetters = z.infer<typeof DeadLetters>

const RetryDeadLetters = z.strictObject({
  topic: text(249).min(1).optional().describe('Only records of this topic.'),
  reason: text(249).min(1).optional().describe('Only letters with this reason.'),
})

/** A retry as admin-api asks the replayer for it. */
export const AskedRetry = z.object({ topics: z.array(z.string()), reason: z.string().optional() })
export type AskedRetry = z.infer<typeof AskedRetry>

export const DeadLettersRetried = z.object({
  retried: z.number().int().describe('Records that were published to their topics again.'),
  too_large: z
    .number()
    .int()
    .optional()
    .describe('Letters without their record, which stay; absent when there are none.'),
})

const listQuery = z.object({
  topic: z.string().optional().meta({ description: 'Only records of this topic.', example: 'events.accepted.v1' }),
})

export type DeadLettersRetried = z.infer<typeof DeadLettersRetried>

/** The routes of dead letters. */
export const deadLetterRoutes = {
  listDeadLetters: {
    method: 'GET',
    path: '/admin/api/v1/dead-letters',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Dead letters that wait',
    description:
      'Records that a consumer could not handle, by topic and reason. `too_large` are those that the letter lacks: they can not be retried. Letters go after 30 days.',
    query: listQuery,
    answers: {
      200: {
        schema: { DeadLetters },
        description: 'Letters that were not retried.',
        example: {
          dead: [
            {
              topic: 'events.accepted.v1',
              reason: 'row_refused',
              count: 12,
              first_ms: Date.UTC(2026, 5, 1),
              last_ms: Date.UTC(2026, 5, 2),
            },
          ],
        } satisfies DeadLetters,
      },
    },
  },
  retryDeadLetters: {
    method: 'POST',
    path: '/admin/api/v1/dead-letters/retry',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Retry dead letters',
    description:
      'Publishes the records of the letters that wait to their topics again, all or those that the body names. May be repeated, also after a failure: an event that is there already is dropped. One retry runs at a time; another is 503.',
    body: {
      schema: { RetryDeadLetters },
      examples: { example: { topic: 'events.accepted.v1', reason: 'row_refused' } },
    },
    answers: {
      200: { schema: { DeadLettersRetried }, description: 'Number of published records.', example: { retried: 12 } },
    },
  },
} satisfies Routes
