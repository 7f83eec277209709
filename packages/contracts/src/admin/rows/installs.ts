import { z } from 'zod'
import { exampleInstall, InstallRecord } from '../../install-record.ts'
import type { Routes } from '../../routes/route.ts'
import { companyRoles } from '../people/roles.ts'
import { appParams } from './app-params.ts'

/** The routes of the installs of an app. */
export const appInstallRoutes = {
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
