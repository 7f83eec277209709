import { z } from 'zod'
import { Bindings } from '../routes/health.ts'
import type { Routes } from '../routes/route.ts'

/** How a rotation of the master key ended. */
const MasterKeyRotated = z.object({
  key_id: z.string().describe('id of the master key that encrypts from now on: the start of its SHA-256'),
  rotated: z.number().int().describe('secrets that were encrypted again'),
  unreadable: z.number().int().describe('secrets that none of the given keys decrypts; they are left as they are'),
})
export type MasterKeyRotated = z.infer<typeof MasterKeyRotated>

export const SystemStatus = z.object({
  ready: z.boolean(),
  consumers: z.array(
    z.object({
      name: z.string(),
      topic: z.string(),
      lag: z.number().int().describe('Records not yet committed, all partitions.'),
      oldest_unwritten_ms: z
        .number()
        .int()
        .nullable()
        .describe('Age of the oldest record not yet written; null at lag 0.'),
    }),
  ),
  bindings: Bindings,
  instance: z
    .string()
    .optional()
    .describe('Standalone: another one for each start; `start.json` of its data folder holds the same.'),
})
export type SystemStatus = z.infer<typeof SystemStatus>

/** The routes of the master key and of the state of the system. */
export const systemRoutes = {
  rotateMasterKey: {
    method: 'POST',
    path: '/admin/api/v1/master-key/rotate',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Encrypt every secret with the present master key',
    description:
      'For a service that has the new key in `TRIBUTARY_MASTER_KEY` and the one before in `TRIBUTARY_MASTER_KEY_OLD`. May be repeated, also after a failure; `/event` takes events meanwhile.',
    answers: {
      200: {
        schema: { MasterKeyRotated },
        description: 'How it ended.',
        example: { key_id: '1a2b3c4d', rotated: 12, unreadable: 0 } satisfies MasterKeyRotated,
      },
    },
  },
  getStatus: {
    method: 'GET',
    path: '/admin/api/v1/status',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'State of consumers and bindings',
    answers: {
      200: {
        schema: { SystemStatus },
        description: 'The state now.',
        example: {
          ready: true,
          consumers: [{ name: 'event-writer', topic: 'events.accepted.v1', lag: 0, oldest_unwritten_ms: null }],
          bindings: { database: { status: 'ok', latency_ms: 1 }, queues: { status: 'ok', latency_ms: 2 } },
        } satisfies SystemStatus,
      },
    },
  },
} satisfies Routes
