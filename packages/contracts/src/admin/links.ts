import { z } from 'zod'
import type { Routes } from '../routes/route.ts'
import { created_at_ms, pathId } from './admin-fields.ts'
import { CreateLink } from './link-fields.ts'
import { marketers, readers } from './people/roles.ts'

export type { CreateLink }

export const LinkCreated = z.object({
  link_id: z.string(),
  url: z.string().describe('What an advertisement leads to.'),
})
export type LinkCreated = z.infer<typeof LinkCreated>

export const Link = LinkCreated.extend({
  url: z.string().nullable().describe('null: the fleet has no `TRIBUTARY_LINK_URL`.'),
  app_id: z.string(),
  partner: z.string(),
  campaign: z.string().nullable(),
  ad_group: z.string().nullable(),
  creative: z.string().nullable(),
  fallback_url: z.string().nullable(),
  deep_link: z.string().nullable(),
  countries: z.array(z.string()).nullable().describe('null: all.'),
  lookback_hours: z.number().int().nullable().describe('null: as the app says.'),
  honeypot: z.boolean(),
  status: z.enum(['enabled', 'disabled']),
  created_at_ms: z.number().int(),
})
export type Link = z.infer<typeof Link>

const LinkList = z.object({ links: z.array(Link) })

export const LinkStatus = Link.pick({ link_id: true, status: true })
export type LinkStatus = z.infer<typeof LinkStatus>

const params = pathId('link', 'k3J9xQb7Zt1a')
const listQuery = z.object({ app_id: z.string().meta({ description: 'Id of the app.', example: 'app_1' }) })
const made = { link_id: 'k3J9xQb7Zt1a', url: 'https://go.example.com/l/k3J9xQb7Zt1a' } satisfies LinkCreated
const given = { app_id: 'app_1', partner: 'example_ads', campaign: 'summer', countries: ['AT', 'DE'] }
const link = {
  ...made,
  ...given,
  ...{ ad_group: null, creative: null, fallback_url: null, deep_link: null, lookback_hours: null, honeypot: false },
  status: 'enabled',
  created_at_ms,
} satisfies Link
const statusNow = (status: Link['status']) => ({
  schema: { LinkStatus },
  description: 'The state of the link now.',
  example: { link_id: made.link_id, status } satisfies LinkStatus,
})

/** The routes of tracking links. */
export const linkRoutes = {
  createLink: {
    method: 'POST',
    path: '/admin/api/v1/links',
    auth: 'admin',
    roles: marketers,
    over: 'app of body',
    tag: 'Admin',
    summary: 'Make a tracking link',
    description:
      'Its app must have the id that the store page needs: `bundle_id` on Android, `store_id` on iOS. A fleet without the setting `TRIBUTARY_LINK_URL` makes none: `invalid_field`.',
    body: { schema: { CreateLink }, examples: { example: given } },
    answers: { 200: { schema: { LinkCreated }, description: 'The link.', example: made } },
    errors: ['unknown_app'],
  },
  listLinks: {
    method: 'GET',
    path: '/admin/api/v1/links',
    auth: 'admin',
    roles: readers,
    over: 'app of query',
    tag: 'Admin',
    summary: 'Tracking links of an app',
    query: listQuery,
    answers: {
      200: {
        schema: { LinkList },
        description: 'Disabled ones too, in the order in which they were made.',
        example: { links: [link] },
      },
    },
    errors: ['unknown_app'],
  },
  enableLink: {
    method: 'POST',
    path: '/admin/api/v1/links/:id/enable',
    auth: 'admin',
    roles: marketers,
    over: 'link of path',
    tag: 'Admin',
    summary: 'Enable a tracking link',
    description: 'Acts within a second. May be repeated.',
    params,
    answers: { 200: statusNow('enabled') },
    errors: ['unknown_link'],
  },
  disableLink: {
    method: 'POST',
    path: '/admin/api/v1/links/:id/disable',
    auth: 'admin',
    roles: marketers,
    over: 'link of path',
    tag: 'Admin',
    summary: 'Disable a tracking link',
    description:
      'Within a second its clicks are counted no more, and people reach the plain store page. May be repeated.',
    params,
    answers: { 200: statusNow('disabled') },
    errors: ['unknown_link'],
  },
} satisfies Routes
