import { type ComponentType, lazy } from 'react'
import type { DataTable } from './data-table.tsx'

/** Charts, codes and tables come after the first numbers: their code is not in the first load. */
export const LineChart = lazy(() => import('./line-chart.tsx'))
export const QrCode = lazy(() => import('../qr-code.tsx'))
export const Sparkline = lazy(() => import('./sparkline.tsx'))

const LazyTable = lazy(async () => ({
  default: (await import('./data-table.tsx')).DataTable as unknown as ComponentType,
}))
/** `DataTable`, below a `Suspense`. */
export const LaterTable = LazyTable as unknown as typeof DataTable
