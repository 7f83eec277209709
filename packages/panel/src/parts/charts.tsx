import { lazy } from 'react'

/** Charts come after the numbers: their code is not in the first load. */
export const LineChart = lazy(() => import('./line-chart.tsx'))
export const Sparkline = lazy(() => import('./sparkline.tsx'))
