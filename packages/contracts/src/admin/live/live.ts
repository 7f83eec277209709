import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from '../rows/app-params.ts'

const textOrNull = z.string().nullable()

/** What became of one event, or of a whole request. */
const fate = {
  at_ms: z.number().int().describe('When the gateway answered, Unix epoch ms.'),
  route: z.string(),
  request_id: z.string().describe('Empty where no signature proves who chose it.'),
  code: textOrNull.describe('Why it was rejected or refused; null for an accepted event.'),
  field: textOrNull,
  message: textOrNull,
  event_name: textOrNull,
  unproven: z.boolean().describe('true: no signature proves who sent it.'),
}

export const LiveItem = z.object({
  kind: z
    .enum(['accepted', 'rejected', 'refused'])
    .describe('An event that was accepted or rejected, or a whole request that was refused.'),
  ...fate,
  install_uuid: textOrNull,
  event_id: textOrNull,
  ip: textOrNull.optional().describe('For owners and admins alone.'),
  raw: textOrNull
    .optional()
    .describe('JSON of the event, cut, without receipts and secrets; for owners and admins alone.'),
})
export type LiveItem = z.infer<typeof LiveItem>

export const KeptRefusal = z.object({ kind: z.literal('kept'), ...fate })
export type KeptRefusal = z.infer<typeof KeptRefusal>

export const StreamGap = z.object({
  kind: z.literal('gap'),
  gap: z.number().int().describe('Events, refusals and clicks that this stream misses.'),
})

export const StreamEnd = z.object({
  kind: z.literal('end'),
  reason: z.enum(['session_ended', 'rights_changed', 'unavailable', 'too_slow', 'over']),
})

export const LiveMessage = z.discriminatedUnion('kind', [KeptRefusal, LiveItem, StreamGap, StreamEnd])
export type LiveMessage = z.infer<typeof LiveMessage>

export const seconds = (description: string) =>
  z.coerce.number().int().min(0).max(86_400).optional().meta({ description, example: 0 })

const filter = text(limits.event_name_chars_max).optional()

const query = z.object({
  install: filter.meta({ description: 'Events of this install alone.', example: 'install-1' }),
  name: filter.meta({ description: 'Events of this name alone.', example: 'purchase' }),
  code: filter.meta({ description: 'What was rejected or refused with this code alone.', example: 'invalid_field' }),
  seconds: seconds('The stream ends after so many seconds; 0: after the kept refusals.'),
})
export type LiveFilter = Omit<z.infer<typeof query>, 'seconds'>

/** The routes that show what comes in, as it comes in. */
export const liveRoutes = {
  watchApp: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/live',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Events and refusals of an app as they come',
    description: `Server-sent events, each with a \`data\` line. First the last ${limits.refusals_kept_max} refusals of each code in 24 hours, without installs. Then what comes in, within 2 s: at most ${limits.live_events_per_s_max} events a second that fit the filters. \`gap\` counts what this stream misses. A comment comes each 15 s. A stream ends with its session.`,
    params: appParams,
    query,
    answers: {
      200: {
        schema: { LiveMessage },
        form: 'events',
        description: 'A message for each event and refusal.',
        example: {
          ...{ kind: 'rejected', at_ms: created_at_ms, route: '/event', request_id: 'r-1' },
          ...{ code: 'invalid_field', field: 'revenue', message: 'revenue is a number.', event_name: 'purchase' },
          ...{ unproven: false, install_uuid: 'install-1', event_id: 'e-2' },
        } satisfies LiveMessage,
      },
    },
    errors: ['unknown_app'],
  },
} satisfies Routes
