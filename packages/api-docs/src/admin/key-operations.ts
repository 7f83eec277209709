import type { Operation } from '../operation.ts'
import { body, change, created_at_ms, pathId, queryId, read } from './admin-operation.ts'

const key = { key_id: 'key_1', label: 'billing', allowed_events: ['purchase', 'subscription_renewed'] }

/** The routes of server keys. */
export const keyOperations: readonly Operation[] = [
  change({
    path: '/keys',
    id: 'createServerKey',
    summary: 'Mint a server key',
    description: 'The answer is the only place where the key is shown.',
    body: body('CreateServerKey', {
      app_id: 'app_1',
      label: key.label,
      allowed_events: key.allowed_events,
      scopes: ['events:write'],
    }),
    shown: {
      schema: 'ServerKeyCreated',
      description: 'The key.',
      example: { ...key, key: `srv_${'0'.repeat(48)}` },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_app'],
  }),
  read({
    path: '/keys',
    id: 'listServerKeys',
    summary: 'Server keys of an app',
    parameters: [queryId('app', 'app_1')],
    shown: {
      schema: 'ServerKeyList',
      description: 'Without the keys themselves.',
      example: {
        keys: [{ ...key, scopes: ['events:write'], display: 'srv_0000...0000', status: 'active', created_at_ms }],
      },
    },
    errors: ['unknown_app', 'invalid_field'],
  }),
  change({
    path: '/keys/{id}/revoke',
    id: 'revokeServerKey',
    summary: 'Revoke a server key',
    description: 'Within 10 s it answers 401. Can not be undone, may be repeated.',
    parameters: [pathId('key', 'key_1')],
    shown: {
      schema: 'ServerKeyStatus',
      description: 'The state of the key now.',
      example: { key_id: 'key_1', status: 'revoked' },
    },
    errors: ['unknown_key', 'not_found'],
  }),
]
