import { z } from 'zod'
import { AttributionSettings, defaultAttributionSettings } from '../attribution/settings.ts'
import { platforms } from '../event/envelope.ts'
import { limits } from '../limits.ts'
import type { Routes } from '../routes/route.ts'
import { created_at_ms, name, pathId, text } from './admin-fields.ts'
import { companyRoles, managers } from './people/roles.ts'

/** An empty text takes the setting away. */
const bundle_id = text(256).regex(
  /^([A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)?$/,
  'It must be a bundle identifier or a package name, such as com.example.run.',
)
const provider_token = text(64).regex(/^[!-~]*$/, 'It must be visible ASCII characters without spaces.')

const appSettings = {
  bundle_id: bundle_id.optional().describe('Bundle identifier or package name.'),
  store_id: text(64)
    .optional()
    .describe('Id in the store. On iOS the digits after `id` in the App Store address, at most 20.'),
  provider_token: provider_token.optional().describe('Provider token of App Store Connect.'),
}

const CreateApp = z.strictObject({ company_id: z.string(), name, platform: z.enum(platforms), ...appSettings })
export type CreateApp = z.infer<typeof CreateApp>

const development_keys = z
  .boolean()
  .describe("Whether postbacks that one of Apple's development keys signed count, also those that are stored already.")

const push_audience = text(limits.google_push_chars_max).regex(
  /^[!-~]*$/,
  'It must be visible ASCII characters without spaces.',
)
const push_email = text(limits.google_push_chars_max).regex(
  /^([!-?A-~]+@[!-?A-~]+)?$/,
  'It must be an address of mail in visible ASCII characters.',
)
const valid_receipts_only = z
  .boolean()
  .describe(
    'Whether money of events whose receipt is `unverified` counts in no report, also of those that are stored already.',
  )

const ChangeApp = z.strictObject({
  name: name.optional(),
  ...appSettings,
  google_push_audience: push_audience
    .optional()
    .describe('Audience of the tokens with which Pub/Sub pushes notifications. Empty: the address that it pushes to.'),
  google_push_email: push_email
    .optional()
    .describe('Service account whose tokens Pub/Sub pushes with. Empty: no notification of Google is taken.'),
  development_keys: development_keys.optional(),
  valid_receipts_only: valid_receipts_only.optional(),
  ...AttributionSettings.partial().shape,
})
export type ChangeApp = z.infer<typeof ChangeApp>

/** An app as it is now, without its signing secret. */
export const App = z.object({
  app_id: z.string(),
  company_id: z.string(),
  app_key: z.string(),
  name: z.string(),
  platform: z.enum(platforms),
  bundle_id: z.string().nullable(),
  store_id: z.string().nullable(),
  provider_token: z.string().nullable(),
  owns_store_id: z
    .boolean()
    .describe("false: Apple's postbacks of this `store_id` belong to another app; here it leads links alone."),
  development_keys,
  valid_receipts_only,
  has_apple_key: z.boolean().describe('Whether a key of the App Store Server API is set.'),
  has_google_account: z.boolean().describe('Whether a service account of Google is set.'),
  google_push_audience: z
    .string()
    .nullable()
    .describe('Audience of the tokens of Pub/Sub; null: the address that it pushes to.'),
  google_push_email: z
    .string()
    .nullable()
    .describe('Service account of the tokens of Pub/Sub; null: no notification of Google is taken.'),
  ...AttributionSettings.shape,
  created_at_ms: z.number().int(),
  old_secrets_end_ms: z
    .array(z.number().int())
    .describe('When each old signing secret that is still valid ends, Unix epoch ms; empty without a rotation.'),
})
export type App = z.infer<typeof App>

const AppList = z.object({ apps: z.array(App) })

export const AppCreated = z.object({
  app_id: z.string(),
  app_key: z.string(),
  signing_secret: z.string().describe('Shown here only.'),
})
export type AppCreated = z.infer<typeof AppCreated>

const RotateSecret = z.strictObject({
  overlap_hours: z
    .number()
    .int()
    .min(0)
    .max(limits.secret_overlap_hours_max)
    .default(limits.secret_overlap_hours_default)
    .describe('How long the secret of today stays valid; 0 ends it and every older one at once.'),
})

export const SecretRotated = App.extend({ signing_secret: z.string().describe('The new one; shown here only.') })
export type SecretRotated = z.infer<typeof SecretRotated>

/** An app that got a store id. */
export const StoreIdMoved = App.extend({
  dropped_store_id: z
    .string()
    .optional()
    .describe(
      "The id that this app had before: no app has it now, and Apple's postbacks of it belong to nobody. Absent without one.",
    ),
})
export type StoreIdMoved = z.infer<typeof StoreIdMoved>

const MoveStoreId = z.strictObject({ store_id: text(64).describe('Digits of the App Store address.') })

const params = pathId('app', 'app_1')
const listQuery = z.object({ company_id: z.string().meta({ description: 'Id of the company.', example: 'co_1' }) })
/** The app of the examples. */
export const app = {
  app_id: 'app_1',
  company_id: 'co_1',
  app_key: `app_live_${'0'.repeat(32)}`,
  name: 'Example Run',
  platform: 'android',
  bundle_id: 'com.example.run',
  store_id: null,
  provider_token: null,
  owns_store_id: true,
  development_keys: false,
  valid_receipts_only: false,
  has_apple_key: false,
  has_google_account: false,
  google_push_audience: null,
  google_push_email: null,
  ...defaultAttributionSettings('android'),
  created_at_ms,
  old_secrets_end_ms: [],
} satisfies App

/** The routes of apps and their signing secrets. */
export const appRoutes = {
  createApp: {
    method: 'POST',
    path: '/admin/api/v1/apps',
    auth: 'admin',
    roles: managers,
    over: 'company of body',
    tag: 'Admin',
    summary: 'Make an app',
    description: 'The answer is the only place where its signing secret is shown.',
    body: {
      schema: { CreateApp },
      examples: {
        example: { company_id: 'co_1', name: 'Example Run', platform: 'android', bundle_id: 'com.example.run' },
      },
    },
    answers: {
      200: {
        schema: { AppCreated },
        description: 'The app and its secret.',
        example: { app_id: 'app_1', app_key: app.app_key, signing_secret: '0'.repeat(64) },
      },
    },
    errors: ['unknown_company', 'store_id_taken'],
  },
  listApps: {
    method: 'GET',
    path: '/admin/api/v1/apps',
    auth: 'admin',
    roles: companyRoles,
    over: 'company of query',
    limited: true,
    tag: 'Admin',
    summary: 'Apps of a company',
    query: listQuery,
    answers: {
      200: {
        schema: { AppList },
        description: 'Without their signing secrets, in the order in which they were made.',
        example: { apps: [app] },
      },
    },
    errors: ['unknown_company'],
  },
  getApp: {
    method: 'GET',
    path: '/admin/api/v1/apps/:id',
    auth: 'admin',
    roles: companyRoles,
    over: 'app of path',
    tag: 'Admin',
    summary: 'One app',
    params,
    answers: { 200: { schema: { App }, description: 'The app, without its secrets.', example: app } },
    errors: ['unknown_app'],
  },
  changeApp: {
    method: 'PATCH',
    path: '/admin/api/v1/apps/:id',
    auth: 'admin',
    roles: managers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Change an app',
    description:
      'Changes what is given and nothing else. The platform of an app never changes. Changed settings of attribution act on installs that are received from then on. An app with tracking links keeps the `bundle_id` (Android) or `store_id` (iOS) that they lead to.',
    params,
    body: { schema: { ChangeApp }, examples: { example: { bundle_id: 'com.example.run' } } },
    answers: { 200: { schema: { App }, description: 'The app as it is now.', example: app } },
    errors: ['unknown_app', 'store_id_taken'],
  },
  moveStoreId: {
    method: 'POST',
    path: '/admin/api/v1/apps/:id/move-store-id',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Move a store id to an app',
    description:
      "Apple's postbacks of the store id belong to this app from then on, also those that are stored already. The app that had it loses it. If that app has tracking links, it keeps the id for them, with `owns_store_id` false. The id that this app had before is dropped, and `dropped_store_id` names it. May be repeated.",
    params,
    body: { schema: { MoveStoreId }, examples: { example: { store_id: '310633997' } } },
    answers: {
      200: {
        schema: { StoreIdMoved },
        description: 'The app as it is now.',
        example: { ...app, platform: 'ios', store_id: '310633997', dropped_store_id: '310633998' },
      },
    },
    errors: ['unknown_app'],
  },
  rotateSigningSecret: {
    method: 'POST',
    path: '/admin/api/v1/apps/:id/rotate-secret',
    auth: 'admin',
    roles: managers,
    over: 'app of path',
    fresh: true,
    tag: 'Admin',
    summary: 'Give an app a new signing secret',
    description: `The answer is the only place where the new secret is shown. The secret of today stays valid beside it for \`overlap_hours\`; one that an earlier rotation replaced stays until its own end. At most ${limits.old_secrets_max} old secrets are valid at the same time; 0 hours ends all of them at once.`,
    params,
    body: { schema: { RotateSecret }, examples: { example: { overlap_hours: 24 } } },
    answers: {
      200: {
        schema: { SecretRotated },
        description: 'The app as it is now, and its new secret.',
        example: { ...app, old_secrets_end_ms: [created_at_ms + 24 * 3_600_000], signing_secret: '0'.repeat(64) },
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
