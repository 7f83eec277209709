import { z } from 'zod'
import { filteredReasons } from '../../attribution/click.ts'
import { sources } from '../../event/envelope.ts'
import { exampleInstall } from '../../install-record.ts'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { companyRoles } from '../people/roles.ts'
import { appParams } from './app-params.ts'

const ms = z.number().int()
const nullableText = z.string().nullable()
const ofInstall = z.object({ install_uuid: z.string(), since_ms: ms.describe('Its first event with the user id.') })

const FoundInstall = z.object({ kind: z.literal('install'), install_uuid: z.string() })

const FoundUser = z.object({
  kind: z.literal('user'),
  user_id: z.string(),
  installs: z.array(ofInstall).describe(`The newest first, at most ${limits.find_rows_max}.`),
})

const FoundClick = z.object({
  kind: z.literal('click'),
  click_id: z.string(),
  link_id: z.string(),
  partner: z.string(),
  campaign: nullableText,
  clicked_at_ms: ms,
  filtered_reason: z.enum(filteredReasons).nullable().describe('Not null: the click attributes nothing.'),
  install_uuids: z.array(z.string()).describe('Installs whose verdict is this click.'),
})

const Money = z.object({
  amount: z
    .number()
    .describe('In `currency`, refunds negative: what the store was paid where that counts, else what the event says.'),
  currency: z.string(),
  transaction_id: nullableText,
  counts: z.boolean(),
  beaten_by: z
    .object({
      install_uuid: nullableText,
      event_id: nullableText,
      source: z.enum(sources).nullable(),
      received_at_ms: ms,
    })
    .nullable()
    .describe(
      'The event that has the money of the transaction instead; ids are null where it was erased. Null too where a receipt decides.',
    ),
})

const FoundEvent = z.object({
  kind: z.enum(['event', 'transaction']).describe('Whether its event id or its transaction id was asked for.'),
  install_uuid: z.string(),
  event_id: z.string(),
  event_name: z.string(),
  event_ts_ms: ms,
  received_at_ms: ms,
  source: z.enum(sources).describe('The door that it came by.'),
  audit_key: z.string().describe('The audit object that holds its request.'),
  position: z.object({ topic: z.string(), partition: z.number().int(), offset: z.number().int() }),
  money: Money.nullable().describe('null: an event without money.'),
})
export type FoundEvent = z.infer<typeof FoundEvent>

export const Found = z.union([FoundInstall, FoundUser, FoundClick, FoundEvent])
export type Found = z.infer<typeof Found>

const query = z.object({
  q: text(limits.find_chars_max)
    .min(1)
    .meta({ description: 'The id of an install, a user, a transaction, an event or a click.', example: 'renewal-1' }),
})

/** The route that looks for an id of any kind. */
export const findRoutes = {
  findInApp: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/find',
    auth: 'admin',
    roles: companyRoles,
    over: 'app of path',
    tag: 'Admin',
    summary: 'What an id is, and the fate of an event',
    description:
      'Looks for an install, a user id, a transaction, an event and a click of exactly this id. Events are written once: duplicates of an event are not stored, and are found as the event that counts. Each look-up is an entry of the audit log, without the id.',
    params: appParams,
    query,
    answers: {
      200: {
        schema: {
          FindAnswer: z.object({
            found: z.array(Found).describe(`Events: at most ${limits.find_rows_max}.`),
            events_since: z.iso
              .date()
              .nullable()
              .describe('First day (UTC) with searched events: the time was over, or one was found. null: all days.'),
          }),
        },
        description: 'What it is; empty for nothing that is known.',
        example: {
          found: [
            {
              ...{ kind: 'event', install_uuid: exampleInstall.install_uuid, event_id: 'renewal-1' },
              ...{ event_name: 'subscription_renewed', event_ts_ms: created_at_ms, received_at_ms: created_at_ms },
              ...{ source: 's2s', audit_key: 's2s/2026-06-01/renewal-1.json' },
              position: { topic: 'events.accepted.v1', partition: 3, offset: 17 },
              money: { amount: 9.99, currency: 'USD', transaction_id: 't-1', counts: true, beaten_by: null },
            },
          ],
          events_since: null,
        },
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
