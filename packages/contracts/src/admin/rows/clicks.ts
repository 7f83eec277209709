import { z } from 'zod'
import { Click, filteredReasons } from '../../attribution/click.ts'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms } from '../admin-fields.ts'
import { readers } from '../people/roles.ts'
import { appParams } from './app-params.ts'
import { rowPage, rowWindow } from './row-query.ts'

const ms = z.number().int()
const count = z.number().int()

const ClickCount = z.object({
  since_ms: ms.describe('Begin of the hour or of the UTC day.'),
  clicks: count.describe('Clicks that may attribute an install.'),
  filtered: count.describe('Clicks that attribute nothing.'),
})

/** A click without its address and agent. */
const LinkClick = Click.pick({
  ...{ click_id: true, clicked_at_ms: true, filtered_reason: true, country: true, os: true, ext_click_id: true },
  weight: true,
})
export type LinkClick = z.infer<typeof LinkClick>
export type ClickCount = z.infer<typeof ClickCount>

const FlaggedInstalls = z.object({
  partner: z.string(),
  reason: z.string().describe('A fraud flag.'),
  installs: count,
})
const FilteredClicks = z.object({ partner: z.string(), reason: z.enum(filteredReasons), clicks: count })
export type FlaggedInstalls = z.infer<typeof FlaggedInstalls>
export type FilteredClicks = z.infer<typeof FilteredClicks>

/** The routes of clicks, and of what is flagged or filtered. */
export const clickRoutes = {
  getFraud: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/fraud',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Flagged installs and filtered clicks of an app',
    description: `By partner and reason, the most first, at most ${limits.report_limit_max} rows of each. An install with two flags is in two rows. Clicks are kept for ${limits.keep_click_days_max} days at most.`,
    params: appParams,
    query: z.object(rowWindow),
    answers: {
      200: {
        schema: { Fraud: z.object({ installs: z.array(FlaggedInstalls), clicks: z.array(FilteredClicks) }) },
        description: 'What was flagged and filtered in the window.',
        example: {
          installs: [{ partner: 'adnet', reason: 'fast_install', installs: 3 }],
          clicks: [{ partner: 'adnet', reason: 'bot', clicks: 120 }],
        },
      },
    },
    errors: ['unknown_app'],
  },
  listLinkClicks: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/links/:link_id/clicks',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Clicks of a tracking link',
    description: `Counts by hour or day, and the clicks themselves, the newest first, without addresses. Clicks are kept for ${limits.keep_click_days_max} days at most.`,
    params: appParams.extend({
      link_id: z.string().meta({ description: 'Id of the link.', example: 'k3J9xQb7Zt1a' }),
    }),
    query: z.object({
      ...rowWindow,
      group: z.enum(['hour', 'day']).default('day').meta({ description: 'Period of a count.', example: 'day' }),
      ...rowPage,
    }),
    answers: {
      200: {
        schema: {
          LinkClicks: z.object({
            counts: z.array(ClickCount).describe('Periods with clicks, the oldest first.'),
            clicks: z.array(LinkClick),
            next_cursor: z.string().nullable().describe('null: there are no older ones in the window.'),
          }),
        },
        description: 'Counts of the whole window, and a page of clicks.',
        example: {
          counts: [{ since_ms: created_at_ms, clicks: 1, filtered: 0 }],
          clicks: [
            {
              ...{ click_id: '01970000-0000-7000-8000-0000000000a1', clicked_at_ms: created_at_ms },
              ...{ filtered_reason: null, country: 'AT', os: 'android', ext_click_id: 'p-77' },
            },
          ],
          next_cursor: null,
        },
      },
    },
    errors: ['unknown_app', 'unknown_link'],
  },
} satisfies Routes
