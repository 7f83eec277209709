import { limits } from '@tributary/contracts/limits'
import type { Operation } from '../operation.ts'
import { body, change, created_at_ms, pathId, queryId, read } from './admin-operation.ts'

const app = {
  app_id: 'app_1',
  company_id: 'co_1',
  app_key: `app_live_${'0'.repeat(32)}`,
  name: 'Example Run',
  platform: 'android',
  bundle_id: 'com.example.run',
  store_id: null,
  provider_token: null,
  created_at_ms,
  old_secrets_end_ms: [],
}

/** The routes of apps and their signing secrets. */
export const appOperations: readonly Operation[] = [
  change({
    path: '/apps',
    id: 'createApp',
    summary: 'Make an app',
    description: 'The answer is the only place where its signing secret is shown.',
    body: body('CreateApp', {
      company_id: 'co_1',
      name: 'Example Run',
      platform: 'android',
      bundle_id: 'com.example.run',
    }),
    shown: {
      schema: 'AppCreated',
      description: 'The app and its secret.',
      example: { app_id: 'app_1', app_key: `app_live_${'0'.repeat(32)}`, signing_secret: '0'.repeat(64) },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_company'],
  }),
  read({
    path: '/apps',
    id: 'listApps',
    summary: 'Apps of a company',
    parameters: [queryId('company', 'co_1')],
    shown: {
      schema: 'AppList',
      description: 'Without their signing secrets, in the order in which they were made.',
      example: { apps: [app] },
    },
    errors: ['unknown_company', 'invalid_field'],
  }),
  change({
    method: 'patch',
    path: '/apps/{id}',
    id: 'changeApp',
    summary: 'Change an app',
    description: 'Changes what is given and nothing else. The platform of an app never changes.',
    parameters: [pathId('app', 'app_1')],
    body: body('ChangeApp', { bundle_id: 'com.example.run' }),
    shown: { schema: 'App', description: 'The app as it is now.', example: app },
    errors: ['bad_json', 'invalid_field', 'unknown_app', 'not_found'],
  }),
  change({
    path: '/apps/{id}/rotate-secret',
    id: 'rotateSigningSecret',
    summary: 'Give an app a new signing secret',
    description: `The answer is the only place where the new secret is shown. The secret of today stays valid beside it for \`overlap_hours\`; one that an earlier rotation replaced stays until its own end. At most ${limits.old_secrets_max} old secrets are valid at the same time; 0 hours ends all of them at once.`,
    parameters: [pathId('app', 'app_1')],
    body: body('RotateSecret', { overlap_hours: 24 }),
    shown: {
      schema: 'SecretRotated',
      description: 'The app as it is now, and its new secret.',
      example: {
        ...app,
        old_secrets_end_ms: [created_at_ms + 24 * 3_600_000],
        signing_secret: '0'.repeat(64),
      },
    },
    errors: ['bad_json', 'invalid_field', 'unknown_app', 'not_found'],
  }),
]
