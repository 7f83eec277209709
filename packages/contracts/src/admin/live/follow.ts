import { z } from 'zod'
import { Click, filteredReasons, stopReasons } from '../../attribution/click.ts'
import { Decision } from '../../attribution/decision.ts'
import { idShape } from '../../event/envelope.ts'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from '../rows/app-params.ts'
import { LiveItem, StreamEnd, StreamGap, seconds } from './live.ts'

/** A click on a followed link, as its gateway saw it. */
export const FollowedClick = z.object({
  kind: z.literal('click'),
  at_ms: z.number().int().describe('Unix epoch ms.'),
  click_id: z.string().nullable().describe('null for a click that attributes nothing.'),
  stopped: z
    .enum([...filteredReasons, ...stopReasons])
    .nullable()
    .describe('Why it attributes nothing.'),
  ...{ country: Click.shape.country, os: Click.shape.os },
  ext_click_id: Click.shape.ext_click_id.describe("The partner's `click_id`, cut."),
})
export type FollowedClick = z.infer<typeof FollowedClick>

const install = Decision.pick({ install_uuid: true, installed_at_ms: true }).shape

/** A valid postback of Apple about the app. */
export const FollowedPostback = z.object({
  kind: z.literal('postback'),
  at_ms: z.number().int().describe('When the gateway received it, Unix epoch ms.'),
  protocol: z.enum(['skan', 'aak']),
  environment: z.enum(['production', 'development']),
  network: z.string(),
  source: z.string().describe('Source identifier, else campaign id.'),
  sequence_index: z.number().int(),
  fine: z.number().int().nullable().describe('Conversion value, 0 to 63.'),
  coarse: z.string().nullable().describe('low, medium or high.'),
  did_win: z.boolean().nullable(),
})
export type FollowedPostback = z.infer<typeof FollowedPostback>

export const FollowMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('following') }),
  FollowedClick,
  z.object({ kind: z.literal('install'), ...install }),
  z.object({
    kind: z.literal('verdict'),
    install_uuid: install.install_uuid,
    ...Decision.pick({ decided_at_ms: true, pending: true, verdict: true, candidates: true }).shape,
  }),
  LiveItem,
  FollowedPostback,
  StreamGap,
  StreamEnd,
])
export type FollowMessage = z.infer<typeof FollowMessage>

const id = z.string().regex(idShape).optional()

export const followRoutes = {
  followInApp: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/follow',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'What becomes of an install, or of the next click of a link, as it happens',
    description: `Server-sent events, each with a \`data\` line, for whoever integrates. \`following\` comes when gateways know what is followed. Then, with \`link_id\`: clicks on the link, up to the first one that may attribute, and the install that this click brings. With \`install_uuid\`, or once the install is known: its events, accepted and rejected, its verdict and each change of it, with at most ${limits.follow_candidates_max} candidates. Valid postbacks of Apple about the app come too: Apple names no install. \`gap\` counts what this stream misses, as in the live view. The stream ends with its session, and after a day.`,
    params: appParams,
    query: z.object({
      install_uuid: id.meta({ description: 'Follow this install; it may still be to come.', example: 'install-1' }),
      // Without an example: the examples of a query make one request together.
      link_id: id.meta({ description: 'Follow the next click of this link, instead of an install.' }),
      seconds: seconds('The stream ends after so many seconds; a day when absent.'),
    }),
    answers: {
      200: {
        schema: { FollowMessage },
        form: 'events',
        description: 'A message for each click, install, verdict, event and postback.',
        example: {
          ...{ kind: 'click', at_ms: created_at_ms, click_id: '01970000-0000-7000-8000-0000000000a1', stopped: null },
          ...{ country: 'AT', os: 'android', ext_click_id: 'p-77' },
        } satisfies FollowMessage,
      },
    },
    errors: ['unknown_app', 'unknown_link'],
  },
} satisfies Routes
