import { z } from 'zod'
import { type ReportName, reportNames, reportRoutes, reports } from '../../reports.ts'
import type { Route, Routes } from '../../routes/route.ts'
import { readers } from '../people/roles.ts'
import { appParams } from './app-params.ts'

/** Where people read all reports of an app. */
export const app_report_path = '/admin/api/v1/apps/:app_id/reports/:report'

function appReportRoute(name: ReportName): Route {
  const { query, headers, answers, errors = [] } = reportRoutes[`${name}Report`]!
  return {
    method: 'GET',
    path: `/admin/api/v1/apps/:app_id/reports/${name}`,
    served_at: app_report_path,
    auth: 'admin',
    roles: readers,
    over: 'app of path',
    tag: 'Admin',
    summary: `${reports[name].summary}, of an app`,
    description: `The parameters, the rows and the order of faults are those of \`GET /api/v1/reports/${name}\`; the app is looked at before them. A person counts as a key.`,
    params: appParams,
    ...(query && { query }),
    ...(headers && { headers }),
    answers,
    errors: ['unknown_app', ...errors],
  }
}

/** The operation of each report of an app: `eventsOfApp` of `events`. */
export const appReportRoutes: Routes = Object.fromEntries(
  reportNames.map((name) => [`${name}OfApp`, appReportRoute(name)]),
)

const { query: _, ...any } = appReportRoute('events')

/** All of them as one route. Its parameters are left to the report, which says their faults in its own order. */
export const anyAppReport: Route = {
  ...any,
  path: app_report_path,
  params: appParams.extend({ report: z.string() }),
}
