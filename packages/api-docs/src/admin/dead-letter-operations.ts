import type { Operation } from '../operation.ts'
import { body, change, read } from './admin-operation.ts'

/** The routes of dead letters. */
export const deadLetterOperations: readonly Operation[] = [
  read({
    path: '/dead-letters',
    id: 'listDeadLetters',
    summary: 'Dead letters that wait',
    description:
      'Records that a consumer could not handle, by topic and reason. `too_large` are those that the letter lacks: they can not be retried. Letters go after 30 days.',
    parameters: [
      {
        name: 'topic',
        in: 'query',
        description: 'Only records of this topic.',
        schema: { type: 'string' },
        example: 'events.accepted.v1',
      },
    ],
    shown: {
      schema: 'DeadLetters',
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
      },
    },
    errors: ['invalid_field'],
  }),
  change({
    path: '/dead-letters/retry',
    id: 'retryDeadLetters',
    summary: 'Retry dead letters',
    description:
      'Publishes the records of the letters that wait to their topics again, all or those that the body names. May be repeated, also after a failure: an event that is there already is dropped. One retry runs at a time; another is 503.',
    body: body('RetryDeadLetters', { topic: 'events.accepted.v1', reason: 'row_refused' }),
    shown: {
      schema: 'DeadLettersRetried',
      description: 'What was published.',
      example: { retried: 12 },
    },
    errors: ['bad_json', 'invalid_field'],
  }),
]
