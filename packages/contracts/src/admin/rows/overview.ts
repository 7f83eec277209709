import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from './app-params.ts'
import { rowWindow } from './row-query.ts'

const count = z.number().int()
const period = z.object({ since_ms: count, until_ms: count.describe('Exclusive.') })
const tile = <Value extends z.ZodType>(value: Value) => z.object({ now: value, before: value })

const Tiles = z.object({
  installs: tile(count).describe('New installs, as in the report `attribution`.'),
  events: tile(count).describe('As in the report `events`.'),
  revenue_usd: tile(z.number()).describe('As in the report `revenue`.'),
  d7_rate: tile(z.number().nullable()).describe(
    'As in the report `cohorts`, of the installs of the period whose day 7 is over; null without any.',
  ),
  missing_rates: z.array(z.string()).describe('Currencies with money that lack an exchange rate.'),
})
export type Tiles = z.infer<typeof Tiles>

const query = z.object({
  ...rowWindow,
  since_ms: rowWindow.since_ms.meta({ description: 'Inclusive, Unix epoch ms. 7 days before `until_ms` by default.' }),
})
const example = {
  installs: { now: 240, before: 220 },
  events: { now: 9800, before: 9100 },
  revenue_usd: { now: 154.69, before: 140.2 },
  d7_rate: { now: null, before: 0.1688 },
  missing_rates: [],
} satisfies Tiles
const period_ms = 7 * 86_400_000
const periods = {
  now: { since_ms: created_at_ms, until_ms: created_at_ms + period_ms },
  before: { since_ms: created_at_ms - period_ms, until_ms: created_at_ms },
}
const periodsField = tile(period).describe('Both have the same length: what has passed of the one that was asked for.')

/** The routes of the first page of the panel. */
export const overviewRoutes = {
  getAppOverview: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/overview',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Figures of an app, and of the period before',
    params: appParams,
    query,
    answers: {
      200: {
        schema: {
          AppOverview: z.object({
            periods: periodsField,
            tiles: Tiles,
            quota: z
              .object({ used: count, monthly_quota: count.nullable().describe('null is unlimited.') })
              .nullable()
              .describe('Of the company in this month; null for a role that is limited to apps.'),
          }),
        },
        description: 'The figures.',
        example: { periods, tiles: example, quota: { used: 9800, monthly_quota: 1_000_000 } },
      },
    },
    errors: ['unknown_app'],
  },
  getOverview: {
    method: 'GET',
    path: '/admin/api/v1/overview',
    auth: 'admin',
    roles: readers,
    tag: 'Admin',
    summary: 'Figures of all apps of a person',
    description: `In the order of their ids, at most ${limits.overview_apps_max} apps an answer. The admin token sees none.`,
    query: query.extend({
      after_app_id: text(64).optional().meta({ description: '`next_app_id` of the answer before.', example: 'app_1' }),
    }),
    answers: {
      200: {
        schema: {
          Overview: z.object({
            periods: periodsField,
            apps: z.array(z.object({ company_id: z.string(), app_id: z.string(), name: z.string(), tiles: Tiles })),
            next_app_id: z.string().nullable().describe('null: there are no more.'),
          }),
        },
        description: 'The figures of each app.',
        example: {
          periods,
          apps: [{ company_id: 'co_1', app_id: 'app_1', name: 'Example Run', tiles: example }],
          next_app_id: null,
        },
      },
    },
  },
} satisfies Routes
