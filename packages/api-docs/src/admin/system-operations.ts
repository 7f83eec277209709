import type { Operation } from '../operation.ts'
import { change, read } from './admin-operation.ts'

/** The routes of the master key and of the state of the system. */
export const systemOperations: readonly Operation[] = [
  change({
    path: '/master-key/rotate',
    id: 'rotateMasterKey',
    summary: 'Encrypt every secret with the present master key',
    description:
      'For a service that has the new key in `TRIBUTARY_MASTER_KEY` and the one before in `TRIBUTARY_MASTER_KEY_OLD`. May be repeated, also after a failure; `/event` takes events meanwhile.',
    shown: {
      schema: 'MasterKeyRotated',
      description: 'How it ended.',
      example: { key_id: '1a2b3c4d', rotated: 12, unreadable: 0 },
    },
  }),
  read({
    path: '/status',
    id: 'getStatus',
    summary: 'State of consumers and bindings',
    shown: {
      schema: 'SystemStatus',
      description: 'The state now.',
      example: {
        ready: true,
        consumers: [{ name: 'event-writer', topic: 'events.accepted.v1', lag: 0, oldest_unwritten_ms: null }],
        bindings: { database: { status: 'ok', latency_ms: 1 }, queues: { status: 'ok', latency_ms: 2 } },
      },
    },
  }),
]
