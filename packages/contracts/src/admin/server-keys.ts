import { z } from 'zod'
import type { Routes } from '../routes/route.ts'
import { created_at_ms, name, pathId, text } from './admin-fields.ts'
import { managers } from './people/roles.ts'

/** The rights of a server key: send events, read reports and installs, upload costs, state attributions, read raw rows. */
export const keyScopes = ['events:write', 'reports:read', 'costs:write', 'attribution:write', 'raw:read'] as const
export type KeyScope = (typeof keyScopes)[number]
/** The rights of a key whose creation names none. */
export const defaultScopes: readonly KeyScope[] = ['events:write', 'reports:read']

const CreateServerKey = z.strictObject({
  app_id: z.string(),
  label: name,
  allowed_events: z.array(text(128).min(1)).max(200).default([]).describe('Event names; empty: all.'),
  scopes: z
    .array(z.enum(keyScopes))
    .min(1)
    .max(keyScopes.length)
    .default([...defaultScopes])
    .describe(`Rights of the key; \`${defaultScopes.join('` and `')}\` by default.`),
})
export type CreateServerKey = z.input<typeof CreateServerKey>

export const ServerKeyCreated = z.object({
  key_id: z.string(),
  key: z.string().describe('`srv_` and 48 hex characters; shown here only.'),
  label: z.string(),
  allowed_events: z.array(z.string()),
})
export type ServerKeyCreated = z.infer<typeof ServerKeyCreated>

export const ServerKey = z.object({
  key_id: z.string(),
  label: z.string(),
  allowed_events: z.array(z.string()),
  scopes: z.array(z.enum(keyScopes)),
  display: z.string().describe('First and last four characters: `srv_1a2b...9f8e`.'),
  status: z.enum(['active', 'revoked']),
  created_at_ms: z.number().int(),
})
export type ServerKey = z.infer<typeof ServerKey>

export const UsedServerKey = ServerKey.extend({
  last_used_ms: z
    .number()
    .int()
    .nullable()
    .describe('Minute of its last request; null before the first one, and where the counters do not know it.'),
  requests_24h: z
    .number()
    .int()
    .nullable()
    .describe('Its requests of this hour and the 23 hours before, refused ones too; null while the counters are away.'),
})
export type UsedServerKey = z.infer<typeof UsedServerKey>

const ServerKeyList = z.object({ keys: z.array(UsedServerKey) })

export const ServerKeyStatus = ServerKey.pick({ key_id: true, status: true })
export type ServerKeyStatus = z.infer<typeof ServerKeyStatus>

const listQuery = z.object({ app_id: z.string().meta({ description: 'Id of the app.', example: 'app_1' }) })
const key = { key_id: 'key_1', label: 'billing', allowed_events: ['purchase', 'subscription_renewed'] }

/** The routes of server keys. */
export const serverKeyRoutes = {
  createServerKey: {
    method: 'POST',
    path: '/admin/api/v1/keys',
    auth: 'admin',
    roles: managers,
    over: 'app of body',
    fresh: true,
    tag: 'Admin',
    summary: 'Mint a server key',
    description: 'The answer is the only place where the key is shown.',
    body: {
      schema: { CreateServerKey },
      examples: {
        example: {
          app_id: 'app_1',
          label: key.label,
          allowed_events: key.allowed_events,
          scopes: ['events:write'],
        },
      },
    },
    answers: {
      200: {
        schema: { ServerKeyCreated },
        description: 'The key.',
        example: { ...key, key: `srv_${'0'.repeat(48)}` } satisfies ServerKeyCreated,
      },
    },
    errors: ['unknown_app'],
  },
  listServerKeys: {
    method: 'GET',
    path: '/admin/api/v1/keys',
    auth: 'admin',
    roles: managers,
    over: 'app of query',
    tag: 'Admin',
    summary: 'Server keys of an app',
    query: listQuery,
    answers: {
      200: {
        schema: { ServerKeyList },
        description: 'Without the keys themselves.',
        example: {
          keys: [
            {
              ...{ ...key, scopes: ['events:write'], display: 'srv_0000...0000', status: 'active', created_at_ms },
              ...{ last_used_ms: created_at_ms + 86_400_000, requests_24h: 1200 },
            },
          ],
        },
      },
    },
    errors: ['unknown_app'],
  },
  revokeServerKey: {
    method: 'POST',
    path: '/admin/api/v1/keys/:id/revoke',
    auth: 'admin',
    roles: managers,
    over: 'key of path',
    tag: 'Admin',
    summary: 'Revoke a server key',
    description: 'Within 10 s it answers 401. Can not be undone, may be repeated.',
    params: pathId('key', 'key_1'),
    answers: {
      200: {
        schema: { ServerKeyStatus },
        description: 'The state of the key now.',
        example: { key_id: 'key_1', status: 'revoked' } satisfies ServerKeyStatus,
      },
    },
    errors: ['unknown_key'],
  },
} satisfies Routes
