import { z } from 'zod'
import { AttributionSettings } from '../../attribution/settings.ts'
import { lostReasons, Verdict } from '../../attribution/verdict.ts'
import { exampleInstall } from '../../install-record.ts'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { readers } from '../people/roles.ts'
import { appParams } from './app-params.ts'
import { rowWindow } from './row-query.ts'

const { click_window_hours, reinstall_days } = AttributionSettings.shape
const setting = (schema: z.ZodNumber, example: number) =>
  z
    .preprocess((text) => (text === undefined ? undefined : Number(text)), schema.optional())
    .meta({ description: `${schema.description} As decided when absent.`, example })

/** The settings by which installs are decided again. An absent one stays as it was for each install. */
const settings = {
  click_window_hours: setting(click_window_hours, 24),
  probabilistic: z.literal('false').optional().meta({
    description: '`false`: match nothing by address. As decided when absent.',
    example: 'false',
  }),
  reinstall_days: setting(reinstall_days, 30),
}
/** Strict: a setting whose name is misspelt would change nothing, in silence. */
const query = z.strictObject({ ...rowWindow, ...settings })
export type WhatIfSettings = Partial<Pick<z.output<typeof query>, keyof typeof settings>>

/** The decision on an install, with or without the other settings. */
const WhatIfSide = Verdict.pick({
  ...{ partner: true, attribution_type: true, campaign: true, click_id: true, reinstall: true, fraud_flags: true },
}).extend({
  pending: z.boolean().describe('It waits for a click that it names, and counts as `organic`.'),
  reason: z
    .enum(lostReasons)
    .nullable()
    .describe('Why the click of the other side lost here. null: the other side has none, or it was not seen here.'),
})

const Move = z.object({
  from: z.string().describe('Partner before.'),
  to: z.string().describe('Partner after; the same where another field of the verdict changes.'),
  installs: z.number().int(),
  example: z.object({ install_uuid: z.string(), before: WhatIfSide, after: WhatIfSide }),
})

const count = z.number().int()
/** The installs that other settings would move. */
export const WhatIf = z.object({
  installs: count.describe('Decided installs of the window.'),
  changed: count.describe('Those whose verdict would be another.'),
  partners: z
    .array(
      z.object({
        partner: z.string(),
        before: count.describe('Installs, reinstalls included.'),
        after: count,
        reinstalls_before: count,
        reinstalls_after: count,
      }),
    )
    .describe('Those with the most installs before come first.'),
  moves: z.array(Move).describe(`The ${limits.what_if_moves_max} largest, with the first install of each.`),
})
export type WhatIf = z.infer<typeof WhatIf>
export type WhatIfMove = z.infer<typeof Move>
export type WhatIfSide = z.infer<typeof WhatIfSide>

/** A line of the answer: progress, and at the end the result. */
export const WhatIfLine = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('progress'),
    decided: count.describe('Installs that it has gone through.'),
    installs: count.describe('All of the window.'),
  }),
  WhatIf.extend({ kind: z.literal('what_if') }),
])
export type WhatIfLine = z.infer<typeof WhatIfLine>

const side = { campaign: 'spring', reinstall: false, fraud_flags: [], pending: false }
const click_id = '01970000-0000-7000-8000-0000000000a1'

/** The route of what-if. */
export const whatIfRoutes = {
  whatIf: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/what-if',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'What other settings of attribution would change',
    description: `Decides those installs of a window again that other settings may move, from the clicks and install events that are stored, and writes nothing. The answer is lines of JSON: \`progress\` while it decides, and \`what_if\` in the last line; an answer without it was broken off. Closing the connection stops it. An install sees clicks of ${limits.candidate_lookback_ms_max / 86_400_000} days: a window for which some of these are deleted is refused with \`clicks_expired\`, and \`message\` names the first day that works. Each app has one at a time. docs/attribution.md#what-if tells what it leaves as it is.`,
    params: appParams,
    query,
    answers: {
      200: {
        schema: { WhatIfLine },
        form: 'lines',
        description: 'Lines of `WhatIfLine`.',
        example: {
          ...{ kind: 'what_if', installs: 1200, changed: 40 },
          partners: [
            { partner: 'organic', before: 800, after: 840, reinstalls_before: 12, reinstalls_after: 12 },
            { partner: 'adnet', before: 400, after: 360, reinstalls_before: 3, reinstalls_after: 3 },
          ],
          moves: [
            {
              ...{ from: 'adnet', to: 'organic', installs: 40 },
              example: {
                install_uuid: exampleInstall.install_uuid,
                before: { ...side, partner: 'adnet', attribution_type: 'device_id', click_id, reason: null },
                after: {
                  ...{ ...side, partner: 'organic', attribution_type: 'organic', campaign: null, click_id: null },
                  reason: 'outside_window',
                },
              },
            },
          ],
        } satisfies WhatIfLine,
      },
    },
    errors: ['unknown_app', 'clicks_expired', 'busy'],
  },
} satisfies Routes
