import { z } from 'zod'
import { attributionTypes, Verdict } from '../../attribution/verdict.ts'
import { exampleInstall, InstallRecord } from '../../install-record.ts'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { companyRoles, readers } from '../people/roles.ts'
import { appParams } from './app-params.ts'
import { rowPage, rowWindow } from './row-query.ts'

/** An install with its newest verdict. */
export const AppInstall = Verdict.pick({
  ...{ partner: true, attribution_type: true, campaign: true, link_id: true, click_id: true },
  ...{ reinstall: true, fraud_flags: true },
}).extend({ install_uuid: z.string(), installed_at_ms: z.number().int() })
export type AppInstall = z.infer<typeof AppInstall>

const flag = z.enum(['true', 'false']).transform((word) => word === 'true')
const query = z.object({
  ...rowWindow,
  partner: text(limits.partner_chars_max).toLowerCase().optional().meta({
    description: 'Only installs of this partner; `organic` without a click.',
    example: 'adnet',
  }),
  campaign: text(256).optional().meta({ description: 'Only installs of this campaign.', example: 'spring' }),
  attribution_type: z
    .enum(attributionTypes)
    .optional()
    .meta({ description: 'Only installs with this verdict.', example: 'install_referrer' }),
  flagged: flag.optional().meta({ description: 'Only installs with a fraud flag, or without any.', example: 'true' }),
  reinstall: flag.optional().meta({ description: 'Only reinstalls, or none.', example: 'false' }),
  ...rowPage,
})
export type AppInstallsQuery = z.infer<typeof query>

/** The routes of the installs of an app. */
export const appInstallRoutes = {
  listAppInstalls: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/installs',
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Installs of an app',
    description: 'Installs with a verdict, the newest first. An install that waits for a click is not among them.',
    params: appParams,
    query,
    answers: {
      200: {
        schema: {
          AppInstalls: z.object({
            installs: z.array(AppInstall),
            next_cursor: z.string().nullable().describe('null: there are no older ones in the window.'),
          }),
        },
        description: 'A page of installs.',
        example: {
          installs: [
            {
              ...{ install_uuid: exampleInstall.install_uuid, installed_at_ms: created_at_ms, partner: 'adnet' },
              ...{ attribution_type: 'install_referrer', campaign: 'spring', link_id: 'lnk_1', click_id: null },
              ...{ reinstall: false, fraud_flags: ['fast_install'] },
            } satisfies AppInstall,
          ],
          next_cursor: null,
        },
      },
    },
    errors: ['unknown_app'],
  },
  getAppInstall: {
    method: 'GET',
    path: '/admin/api/v1/apps/:app_id/installs/:install_uuid',
    auth: 'admin',
    roles: companyRoles,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Where an install of an app came from, and why',
    description: 'The record of `GET /api/v1/installs/{install_uuid}`.',
    params: appParams.extend({
      install_uuid: z.string().meta({ description: 'The id in its events.', example: exampleInstall.install_uuid }),
    }),
    answers: { 200: { schema: { InstallRecord }, description: 'The install.', example: exampleInstall } },
    errors: ['unknown_app', 'unknown_install'],
  },
} satisfies Routes
