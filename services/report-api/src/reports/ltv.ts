import type { Report } from '../report.ts'

/** Money of the installs of a day since their install (docs/rules.md#ltv-report). */
export const ltvReport: Report<'ltv'> = async () => ({ rows: [], missing_rates: [] })
