import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, name } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from '../rows/app-params.ts'

/** A page of the panel with its words: no address of another site, and no scheme. */
const addressShape = /^\/[a-z][a-z0-9-]*(\/[^?#\s\\]*)?(\?[^#\s\\]*)?$/
/** Segments such as `..` would lead out of the panel. */
const staysBelow = (address: string) =>
  new URL(`http://x/admin${address}`).pathname === `/admin${address.split('?')[0]}`

const SaveView = z.strictObject({
  name: name.max(limits.view_name_chars_max),
  address: z
    .string()
    .max(limits.view_address_chars_max)
    .regex(addressShape, 'must be the path of a page below /admin')
    .refine(staysBelow, 'must be the path of a page below /admin')
    .describe('Path and query of a page below `/admin`.'),
})

const SavedView = z.object({
  ...SaveView.shape,
  saved_by: z.string().nullable().describe('Email. null: the admin token, or a person who is removed.'),
  saved_at_ms: z.number().int(),
})
export type SavedView = z.infer<typeof SavedView>

const SavedViews = z.object({ views: z.array(SavedView) })
const RemoveView = z.strictObject({ name: z.string() })
const ViewRemoved = z.object({ name: z.string(), status: z.literal('removed') })

const given = { name: 'Spring in Germany', address: '/performance?app=app_1&country=DE' }
const view = { ...given, saved_by: 'ada@example.com', saved_at_ms: created_at_ms } satisfies SavedView
const shared = { auth: 'admin', roles: readers, over: 'app of path', tag: 'Admin', params: appParams } as const
const path = '/admin/api/v1/apps/:app_id/views'

/** Names for addresses of the panel, for everybody who may see the app. */
export const savedViewRoutes = {
  listViews: {
    ...{ ...shared, method: 'GET', path },
    summary: 'Saved views of an app',
    answers: { 200: { schema: { SavedViews }, description: 'By name.', example: { views: [view] } } },
    errors: ['unknown_app'],
  },
  saveView: {
    ...{ ...shared, method: 'PUT', path },
    summary: 'Give an address of the panel a name',
    description: `Replaces a view of the same name. An app holds at most ${limits.app_views_max} views.`,
    body: { schema: { SaveView }, examples: { example: given } },
    answers: { 200: { schema: { SavedView }, description: 'The view.', example: view } },
    errors: ['unknown_app'],
  },
  removeView: {
    ...{ ...shared, method: 'POST', path: `${path}/remove` },
    summary: 'Remove a saved view',
    body: { schema: { RemoveView }, examples: { example: { name: given.name } } },
    answers: {
      200: {
        schema: { ViewRemoved },
        description: 'The view is removed, or did not exist.',
        example: { name: given.name, status: 'removed' },
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
