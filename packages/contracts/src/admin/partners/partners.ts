import { z } from 'zod'
import { limits } from '../../limits.ts'
import { DeliveryOutcome, flaggedChoices, postbackMethods } from '../../partner/postback.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms } from '../admin-fields.ts'
import { PartnerName } from '../link-fields.ts'
import { marketers } from '../people/roles.ts'
import { PartnerOfApp, PreviewPartner, SetPartner } from './partner-fields.ts'

export { PartnerOfApp, PreviewPartner, SetPartner }

/** A postback as it would be sent. */
export const PostbackPreview = z.object({
  method: z.enum(postbackMethods),
  url: z.string().describe('With the values of the install filled in.'),
  body: z.string().nullable().describe('JSON; null for `GET`.'),
  install_uuid: z
    .string()
    .nullable()
    .describe('The newest install of the partner that it shows; null: the partner has none, the values are made up.'),
})
export type PostbackPreview = z.infer<typeof PostbackPreview>

export const PartnerSettings = z.object({
  app_id: z.string(),
  partner: z.string(),
  postback_url: z.string(),
  method: z.enum(postbackMethods),
  events: z.array(z.string()),
  flagged: z.enum(flaggedChoices),
  signed: z.boolean().describe('It has an HMAC secret.'),
  set_at_ms: z.number().int().describe('Unix epoch ms; what was decided before follows the settings of before.'),
})
export type PartnerSettings = z.infer<typeof PartnerSettings>

export const PartnerSet = PartnerSettings.extend({ preview: PostbackPreview })
export type PartnerSet = z.infer<typeof PartnerSet>

export const Partner = PartnerSettings.extend({
  due: z.number().int().describe('Postbacks that wait to be sent.'),
  oldest_due_ms: z.number().int().nullable().describe('Since when the oldest of them is owed, Unix epoch ms.'),
  dead: z.number().int().describe('Postbacks that were given up and may be sent again.'),
})
export type Partner = z.infer<typeof Partner>
const PartnerList = z.object({ partners: z.array(Partner) })

export const PartnerRemoved = z.object({ app_id: z.string(), partner: z.string(), status: z.literal('removed') })

export const Delivery = z.object({
  partner: z.string(),
  install_uuid: z.string().nullable().describe('null: erased.'),
  event_name: z.string(),
  idempotency_key: z.string().describe('The same for each try of a postback.'),
  try: z.number().int().describe('From 1.'),
  tried_at_ms: z.number().int().describe('Unix epoch ms.'),
  outcome: DeliveryOutcome.describe('`retry`: it is tried again.'),
  status: z.number().int().nullable().describe('HTTP status; null without an answer.'),
  reason: z.string().nullable().describe('Why it was not delivered (docs/postbacks.md#reasons).'),
  elapsed_ms: z.number().int(),
  answer: z.string().nullable().describe(`First ${limits.partner_answer_chars_max} characters; null: erased.`),
})
export type Delivery = z.infer<typeof Delivery>
const DeliveryList = z.object({ deliveries: z.array(Delivery) })
const TestDelivery = z.object({ delivery: Delivery })
const Retried = z.object({ retried: z.number().int() })

const app = z.string().meta({ description: 'Id of the app.', example: 'app_1' })
const listQuery = z.object({ app_id: app })
const deliveriesQuery = z.object({
  app_id: app,
  partner: PartnerName.optional().describe('All when absent.'),
  dead: z.enum(['0', '1']).default('0').describe('1: only the last try of postbacks that were given up.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.partner_deliveries_max)
    .default(limits.partner_deliveries_default)
    .describe('The newest so many.'),
})
export type DeliveriesQuery = z.infer<typeof deliveriesQuery>

const given = {
  ...{ app_id: 'app_1', partner: 'example_ads', method: 'GET' as const },
  postback_url: 'https://ads.example.com/postback?click={ext_click_id}&event={event_name}',
}
const settings = {
  ...given,
  ...{ events: ['install', 'purchase'], flagged: 'skip', signed: true, set_at_ms: created_at_ms },
} satisfies PartnerSettings
const preview = {
  ...{ method: 'GET', body: null, install_uuid: '6f1d4c0e-1111-4222-8333-444455556666' },
  url: 'https://ads.example.com/postback?click=abc123&event=install',
} satisfies PostbackPreview
const delivery = {
  ...{ partner: 'example_ads', install_uuid: preview.install_uuid, event_name: 'install' },
  ...{ idempotency_key: '0d2a8a9e-3c4d-4e5f-8a6b-7c8d9e0f1a2b', try: 1, tried_at_ms: created_at_ms },
  ...{ outcome: 'delivered', status: 200, reason: null, elapsed_ms: 41, answer: 'ok' },
} satisfies Delivery

const shared = { auth: 'admin', roles: marketers, tag: 'Admin' } as const

/** The routes of partner postbacks. */
export const partnerRoutes = {
  setPartner: {
    ...{ ...shared, method: 'PUT', path: '/admin/api/v1/partners', over: 'app of body' },
    summary: 'Set how a partner of an app is notified of installs and events',
    description:
      'Replaces the settings of before. Acts on what is decided after it. The host is resolved and refused where it leads into a private network; a name that does not resolve is taken.',
    body: { schema: { SetPartner }, examples: { example: { ...given, events: ['install', 'purchase'] } } },
    answers: {
      200: { schema: { PartnerSet }, description: 'The settings.', example: { ...settings, preview } },
    },
    errors: ['unknown_app'],
  },
  previewPartner: {
    ...{ ...shared, method: 'POST', path: '/admin/api/v1/partners/preview', over: 'app of body' },
    summary: 'A postback as it would be sent',
    description: 'Filled with the newest install of the partner. Changes and sends nothing.',
    body: { schema: { PreviewPartner }, examples: { example: given } },
    answers: { 200: { schema: { PostbackPreview }, description: 'The postback.', example: preview } },
    errors: ['unknown_app'],
  },
  listPartners: {
    ...{ ...shared, method: 'GET', path: '/admin/api/v1/partners', over: 'app of query' },
    summary: 'Partners of an app that are notified',
    query: listQuery,
    answers: {
      200: {
        schema: { PartnerList },
        description: 'By name, without secrets.',
        example: { partners: [{ ...settings, due: 0, oldest_due_ms: null, dead: 0 }] },
      },
    },
    errors: ['unknown_app'],
  },
  removePartner: {
    ...{ ...shared, method: 'POST', path: '/admin/api/v1/partners/remove', over: 'app of body' },
    summary: 'End the postbacks of a partner',
    description: 'What is due is not sent. What was sent stays in the log.',
    body: { schema: { PartnerOfApp }, examples: { example: { app_id: 'app_1', partner: 'example_ads' } } },
    answers: {
      200: {
        schema: { PartnerRemoved },
        description: 'The partner has no settings.',
        example: { app_id: 'app_1', partner: 'example_ads', status: 'removed' },
      },
    },
    errors: ['unknown_app', 'unknown_partner'],
  },
  testPartner: {
    ...{ ...shared, method: 'POST', path: '/admin/api/v1/partners/test', over: 'app of body' },
    summary: 'Send a partner one postback now',
    description:
      'With the values of the preview, an `Idempotency-Key` of its own and the header `X-Tributary-Test: 1`. It is tried once.',
    body: { schema: { PartnerOfApp }, examples: { example: { app_id: 'app_1', partner: 'example_ads' } } },
    answers: { 200: { schema: { TestDelivery }, description: 'What became of it.', example: { delivery } } },
    errors: ['unknown_app', 'unknown_partner'],
  },
  listDeliveries: {
    ...{ ...shared, method: 'GET', path: '/admin/api/v1/partners/deliveries', over: 'app of query' },
    summary: 'Tries to deliver postbacks of an app',
    query: deliveriesQuery,
    answers: {
      200: {
        schema: { DeliveryList },
        description: 'The newest first, of 90 days.',
        example: { deliveries: [delivery] },
      },
    },
    errors: ['unknown_app'],
  },
  retryPartner: {
    ...{ ...shared, method: 'POST', path: '/admin/api/v1/partners/retry', over: 'app of body' },
    summary: 'Send the dead postbacks of a partner again',
    description: 'To the address and with the settings of now; key and values are the old ones.',
    body: { schema: { PartnerOfApp }, examples: { example: { app_id: 'app_1', partner: 'example_ads' } } },
    answers: { 200: { schema: { Retried }, description: 'How many are due again.', example: { retried: 3 } } },
    errors: ['unknown_app', 'unknown_partner'],
  },
} satisfies Routes
