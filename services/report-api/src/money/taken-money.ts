import { isNotUnverified } from '@tributary/tables/settled/sql/money'
import type { ReportSources } from '../report.ts'

/**
 * SQL condition for the money that the settings of an app take; undefined: all of it (docs/rules.md#receipts-and-money). A setting acts on
 * past days within seconds, and verdicts of unverified receipts change for 72 hours: settled figures know nothing of both, and reports
 * do not read those of money then. Money of a receipt that nobody has judged is taken: `revenue_raw_v1` does not know of receipts.
 */
export async function findTakenMoney(
  { storeApps }: Pick<ReportSources, 'storeApps'>,
  app_id: string,
): Promise<string | undefined> {
  const app = await storeApps.find(app_id)
  return app?.valid_receipts_only ? isNotUnverified('{app_id:String}') : undefined
}
