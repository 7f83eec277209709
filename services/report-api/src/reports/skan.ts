import { columnsOf, type ReportRow } from '@tributary/contracts/reports'
import { allRowsSql, queryPage } from '../query-page.ts'
import type { Report } from '../report.ts'
import { firstDayOf, windowDays } from '../window-days.ts'
import { type CountedValue, type DecodedRow, decodeRow, segmentStarts } from './skan-decode.ts'
import { ownedItemsOf, skanRowsSql } from './skan-rows.ts'

/**
 * Apple's postbacks of the app by day of receipt (docs/rules.md#skan-report). Nothing of a row depends on when the app was
 * registered or its schema published here: the app is matched, winners are chosen and values decoded as it is read.
 */
export const skanReport: Report<'skan'> = async (sources, { app_id, limit, offset, count_rows, group, ...window }) => {
  const { clickhouse, storeApps, cvSchemas } = sources
  const nothing = { rows: [], all_rows: 0, missing_rates: [] }
  const days = windowDays(window)
  const app = await storeApps.find(app_id)
  if (days === null || app === null || app.store_id === null) return nothing
  const own = { item: app.store_id, ...days }
  const owned = await ownedItemsOf({ clickhouse, storeApps }, own)
  const versions = await cvSchemas.find(app_id)
  const requested = { limit, offset, count_rows }
  const sql = skanRowsSql(firstDayOf[group]('day'), owned, segmentStarts(versions), allRowsSql(requested))
  const environments = app.development_keys ? ['production', 'development'] : ['production']
  const { page: counted, all_rows } = await queryPage<SkanRow>(clickhouse, sql, { ...own, environments }, requested)
  const rows = counted.map(({ values, folded: _, ...row }) =>
    ordered({ ...row, ...decodeRow(versions, row, values.map(toValue)) }),
  )
  return { rows, all_rows, missing_rates: [], groups_folded: (counted[0]?.folded ?? 0) > 0 }
}

const columns = columnsOf('skan') as (keyof ReportRow<'skan'>)[]

/** The row with its fields in the declared order. */
const ordered = (row: ReportRow<'skan'>): ReportRow<'skan'> =>
  Object.fromEntries(columns.map((column) => [column, row[column]])) as ReportRow<'skan'>

/** A row without what its values mean. */
type SkanRow = Omit<ReportRow<'skan'>, keyof DecodedRow> & { values: Value[]; folded: number }
type Value = [version: string, since_ms: number, fine: number | null, coarse: CountedValue['coarse'], postbacks: number]

const toValue = ([version, since_ms, fine, coarse, postbacks]: Value): CountedValue => ({
  ...{ version, received_at_ms: since_ms, fine, coarse, postbacks },
})
