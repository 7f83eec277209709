import { z } from 'zod'
import { limits } from '../limits.ts'
import { CvSchema, CvSchemaDraft, CvSchemaPostback, sequenceIndexes } from '../postback/cv-schema.ts'
import type { Routes } from '../routes/route.ts'
import { marketers, readers } from './people/roles.ts'

const app_id = z.string().describe('Id of the app.')
const GivenCvSchema = z.strictObject({ app_id, schema: CvSchemaDraft })

export const CvSchemaPublished = z.object({ app_id: z.string(), version: z.number().int() })
export type CvSchemaPublished = z.infer<typeof CvSchemaPublished>

export const CvSchemaShown = z.object({
  app_id: z.string(),
  version: z.number().int().nullable().describe('null: none was published.'),
  schema: CvSchema.nullable().describe('null: none was published.'),
})
export type CvSchemaShown = z.infer<typeof CvSchemaShown>

const { window_hours, lock_window, fine, coarse } = CvSchemaPostback.shape
const Part = z.union([z.object({ window_hours, lock_window }), fine.unwrap().element, coarse.unwrap().element])

export const CvSchemaChange = z.object({
  postback_sequence_index: z.literal(sequenceIndexes),
  part: z.enum(['postback', 'fine', 'coarse']).describe('`postback`: its window and lock.'),
  value: z.union([z.number(), z.string()]).nullable().describe('Conversion value; null for `postback`.'),
  before: Part.nullable().describe('null: added.'),
  after: Part.nullable().describe('null: removed.'),
})
export type CvSchemaChange = z.infer<typeof CvSchemaChange>

const CvSchemaChanges = z.object({ changes: z.array(CvSchemaChange) })

const showQuery = z.object({
  app_id: z.string().meta({ description: 'Id of the app.', example: 'app_1' }),
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'It must be a whole number from 1.')
    .transform(Number)
    .optional()
    .meta({ description: 'Number of a version; the newest when absent.', example: '1' }),
})

const small = {
  postback_sequence_index: 0,
  window_hours: 48,
  lock_window: false,
  fine: [
    { value: 0, name: 'opened' },
    { value: 1, name: 'first purchase', revenue_min_usd: 0.99, revenue_max_usd: 5, event_name: 'purchase' },
    { value: 2, name: 'big spender', revenue_min_usd: 5, event_name: 'purchase' },
  ],
  coarse: [{ value: 'low', name: 'opened' }],
} satisfies CvSchema['postbacks'][number]
const given = { app_id: 'app_1', schema: { postbacks: [small] } }
const body = {
  schema: { GivenCvSchema },
  bytes_max: limits.cv_schema_body_bytes_max,
  examples: { example: given },
}
const added = { value: 2, name: 'big spender', revenue_min_usd: 5, event_name: 'purchase' }

/** The routes of conversion value schemas. */
export const cvSchemaRoutes = {
  publishCvSchema: {
    method: 'POST',
    path: '/admin/api/v1/cv-schemas',
    auth: 'admin',
    roles: marketers,
    over: 'app of body',
    tag: 'Admin',
    summary: 'Publish a conversion value schema',
    description:
      'Makes the next version of the app, counted from 1 without gaps. It is live at once and never changes; gateways answer it within a second. A `version` in the schema is ignored. The same schema again is a version again.',
    body,
    answers: {
      200: { schema: { CvSchemaPublished }, description: 'Its number.', example: { app_id: 'app_1', version: 1 } },
    },
    errors: ['unknown_app'],
  },
  getCvSchema: {
    method: 'GET',
    path: '/admin/api/v1/cv-schemas',
    auth: 'admin',
    roles: readers,
    over: 'app of query',
    tag: 'Admin',
    summary: 'A conversion value schema of an app',
    query: showQuery,
    answers: {
      200: {
        schema: { CvSchemaShown },
        description: 'The newest one, or the version that was asked for.',
        example: { app_id: 'app_1', version: 1, schema: { version: 1, postbacks: [small] } } satisfies CvSchemaShown,
      },
    },
    errors: ['unknown_app', 'unknown_cv_schema'],
  },
  compareCvSchema: {
    method: 'POST',
    path: '/admin/api/v1/cv-schemas/compare',
    auth: 'admin',
    roles: readers,
    over: 'app of body',
    tag: 'Admin',
    summary: 'What a conversion value schema would change',
    description: 'Checks a schema as if it were published, and compares it with the newest one. Publishes nothing.',
    body,
    answers: {
      200: {
        schema: { CvSchemaChanges },
        description: 'In the order of the values; empty when nothing would change.',
        example: {
          changes: [{ postback_sequence_index: 0, part: 'fine', value: 2, before: null, after: added }],
        } satisfies z.infer<typeof CvSchemaChanges>,
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
