import { declaredRoutes as ofAdmin } from '@tributary/admin-api/app'
import { healthRoutes } from '@tributary/contracts/health'
import type { Routes } from '@tributary/contracts/route'
import { declaredRoutes as ofIngest } from '@tributary/ingest-gateway/app'
import { declaredRoutes as ofLinks } from '@tributary/link-gateway/app'
import { declaredRoutes as ofPostbacks } from '@tributary/postback-gateway/app'
import { declaredRoutes as ofReports } from '@tributary/report-api/app'

/** The routes that each service declares, besides those that every process has. */
export const routesOfServices = {
  'ingest-gateway': ofIngest,
  'link-gateway': ofLinks,
  'postback-gateway': ofPostbacks,
  'report-api': ofReports,
  'admin-api': ofAdmin,
} satisfies Record<string, Routes>

/** Every route of the fleet, in the order of docs/openapi.json. */
export const declaredRoutes = {
  ...ofIngest,
  ...ofLinks,
  ...ofPostbacks,
  ...ofReports,
  ...ofAdmin,
  ...healthRoutes,
} satisfies Routes
