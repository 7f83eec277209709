import { z } from 'zod'
import type { Routes } from '../routes/route.ts'
import { created_at_ms } from './admin-fields.ts'
import { roles } from './people/roles.ts'

/** What needs attention, by code: where the site documents it. */
export const attentionDocs = {
  binding_down: '/docs/operations#when-something-is-wrong',
  process_trouble: '/docs/operations#when-something-is-wrong',
  consumer_lags: '/docs/operations#watching-it',
  dead_letters: '/docs/operations#dead-letters',
  stores_differ: '/docs/operations#reconcile',
  quota_nearly_used: '/docs/operations#monthly-quota',
  secret_ends: '/docs/operations#secrets',
  app_silent: '/docs/rules#which-code',
  partner_fails: '/docs/postbacks#when-a-partner-fails',
  receipts_wait: '/docs/receipts#check-the-credentials',
} as const
export type AttentionCode = keyof typeof attentionDocs
const codes = Object.keys(attentionDocs) as [AttentionCode, ...AttentionCode[]]

const AttentionItem = z.object({
  code: z.enum(codes),
  company_id: z.string().nullable().describe('null: the whole installation.'),
  app_id: z.string().nullable().describe('null: the whole company.'),
  since_ms: z.number().int().nullable().describe('Unix epoch ms; null where nobody knows.'),
  message: z.string(),
  fix: z.string().describe('What to do.'),
  docs: z.string().describe('Address on this site.'),
})
export type AttentionItem = z.infer<typeof AttentionItem>

const AttentionList = z.object({
  items: z.array(AttentionItem),
  unchecked: z.array(z.enum(codes)).describe('Could not be looked at now: no item of it is no proof.'),
})
export type AttentionList = z.infer<typeof AttentionList>

/** The route of what needs attention. */
export const attentionRoutes = {
  listAttention: {
    method: 'GET',
    path: '/admin/api/v1/attention',
    auth: 'admin',
    roles,
    tag: 'Admin',
    summary: 'What needs attention',
    description:
      'In the companies of the person, and the apps that the role is limited to. Operators and the admin token see the facts of the installation; these are at most a minute old.',
    answers: {
      200: {
        schema: { AttentionList },
        description: 'The facts of now; empty: nothing.',
        example: {
          items: [
            {
              ...{ code: 'app_silent', company_id: 'co_1', app_id: 'app_1', since_ms: created_at_ms },
              message: 'Example Game has had no event since 2026-06-01.',
              fix: 'Send an event and look at the code of its answer: has a key or a signing secret changed?',
              docs: attentionDocs.app_silent,
            },
          ],
          unchecked: [],
        } satisfies AttentionList,
      },
    },
  },
} satisfies Routes
