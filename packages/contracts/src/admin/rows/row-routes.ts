import type { Routes } from '../../routes/route.ts'
import { appReportRoutes } from './app-reports.ts'
import { findRoutes } from './find.ts'
import { appInstallRoutes } from './installs.ts'

/** The routes below `/admin/api/v1` that show reports and rows of an app. report-api answers them. */
export const rowRoutes = { ...appReportRoutes, ...appInstallRoutes, ...findRoutes } satisfies Routes
