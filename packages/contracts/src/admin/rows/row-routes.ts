import type { Routes } from '../../routes/route.ts'
import { appReportRoutes } from './app-reports.ts'
import { clickRoutes } from './clicks.ts'
import { findRoutes } from './find.ts'
import { appInstallRoutes } from './installs.ts'
import { overviewRoutes } from './overview.ts'
import { whatIfRoutes } from './what-if.ts'

/** The routes below `/admin/api/v1` that show reports and rows of apps. report-api answers them. */
export const rowRoutes = {
  ...appReportRoutes,
  ...appInstallRoutes,
  ...findRoutes,
  ...overviewRoutes,
  ...clickRoutes,
  ...whatIfRoutes,
} satisfies Routes
