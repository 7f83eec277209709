import { isNotUnverified } from '@tributary/tables/settled/sql/money'
import type { ReportSources } from '../report.ts'

/**
 * SQL condition for the money that the settings of an app take; undefined: all of it. It acts when a report is read
 * (docs/rules.md#receipts-and-money), so settled figures of money are not read then.
 */
export async function findTakenMoney(
  { storeApps }: Pick<ReportSources, 'storeApps'>,
  app_id: string,
): Promise<string | undefined> {
  const app = await storeApps.find(app_id)
  return app?.valid_receipts_only ? isNotUnverified('{app_id:String}') : undefined
}
