import { z } from 'zod'
import { limits } from '../../limits.ts'
import { AppleKey, ServiceAccount, storeChecks } from '../../receipt/store-credentials.ts'
import type { Routes } from '../../routes/route.ts'
import { pathId } from '../admin-fields.ts'
import { App, app } from '../apps.ts'
import { managers } from '../people/roles.ts'

const SetStoreCredentials = z.strictObject({
  apple: AppleKey.nullable().optional().describe('Key of the App Store Server API; null takes it away.'),
  google: ServiceAccount.nullable()
    .optional()
    .describe('The JSON file of a service account; null takes it away. Its other fields are not kept.'),
})
export type SetStoreCredentials = z.infer<typeof SetStoreCredentials>

export const StoresChecked = z.object({ apple: z.enum(storeChecks), google: z.enum(storeChecks) })
export type StoresChecked = z.infer<typeof StoresChecked>

const params = pathId('app', 'app_1')

/** The routes of the credentials that apps have at the stores. */
export const storeRoutes = {
  setStoreCredentials: {
    method: 'PUT',
    path: '/admin/api/v1/apps/:id/store-credentials',
    auth: 'admin',
    roles: managers,
    over: 'app of path',
    fresh: true,
    tag: 'Admin',
    summary: 'Set the credentials of an app at the stores',
    description:
      'Changes what is given and nothing else. They are encrypted and never shown again; `has_apple_key` and `has_google_account` say whether there are any. Nothing is asked: `check-store` does.',
    params,
    body: {
      schema: { SetStoreCredentials },
      examples: {
        apple: {
          apple: {
            ...{ issuer_id: '57246542-96fe-1a63-e053-0824d011072a', key_id: '2X9R4HXF34' },
            key: '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n',
          },
        },
        remove: { google: null },
      },
    },
    answers: {
      200: { schema: { App }, description: 'The app as it is now.', example: { ...app, has_apple_key: true } },
    },
    errors: ['unknown_app'],
  },
  checkStore: {
    method: 'POST',
    path: '/admin/api/v1/apps/:id/check-store',
    auth: 'admin',
    roles: managers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Ask the stores whether they take the credentials of an app',
    description: `Asks each store for a purchase that does not exist. \`ok\`: the store took the credentials for this app. \`no_credentials\`: none are set, or their master key is lost. \`no_bundle_id\`: the app has no \`bundle_id\`. \`refused\`: the store does not take them. \`unknown_app\`: the store knows no app with this \`bundle_id\`. \`store_away\`: no answer of the store. At most ${limits.store_checks_max} a minute for an app.`,
    params,
    answers: {
      200: {
        schema: { StoresChecked },
        description: 'What each store said.',
        example: { apple: 'ok', google: 'no_credentials' },
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
