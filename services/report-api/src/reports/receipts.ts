import type { ReportRow } from '@tributary/contracts/reports'
import { addDays, daysBetween } from '@tributary/tables/settled/days'
import { countedSql, moneyKey } from '@tributary/tables/settled/sql/money'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { type Amount, convertMoney, findRates, lookupsOf, missingRates } from '../money/money.ts'
import { findTakenMoney } from '../money/taken-money.ts'
import { allRowsSql, queryPage } from '../query-page.ts'
import { filterSql, type Report } from '../report.ts'
import { firstDayOf, wholeWindow, windowDays } from '../window-days.ts'
import { both, momentsOf } from '../window-rows.ts'

/**
 * Events with a receipt by period and newest verdict (docs/rules.md#receipts-report): what they state, and what other reports count of
 * it. Both are summed in their own currencies, then each row is converted to USD.
 */
export const receiptsReport: Report<'receipts'> = async (
  sources,
  { app_id, limit, offset, count_rows, filters, group, ...window },
) => {
  const days = windowDays(window)
  if (days === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const { clickhouse, fxRates } = sources
  const { passes, params: filtered } = filterSql(filters)
  const amounts = amountsSql(passes, await findTakenMoney(sources, app_id))
  const window_days = daysBetween(days.first_day, addDays(days.last_day, 1))
  const params = { app_id, ...days, window_days, ...filtered }
  const requested = { limit, offset, count_rows }
  const sql = pageSql(amounts, firstDayOf[group]('date'), allRowsSql(requested))
  const { page, all_rows } = await queryPage<JudgedRow>(clickhouse, sql, params, requested)
  const spent = await clickhouse.query<FxLookup>(spentSql(amounts), params)
  const rateOf = await findRates(fxRates, lookupsOf(page.map((row) => ({ money: [...row.stated, ...row.counted] }))))
  const rows = page.map(({ store, reason, stated, counted, ...row }): ReportRow<'receipts'> => {
    const { day, verdict, events } = row
    const revenue_told_usd = convertMoney(rateOf, stated)
    const revenue_counted_usd = convertMoney(rateOf, counted)
    return {
      ...{ day, store: store || null, verdict, reason: reason || null },
      ...{ events, revenue_told_usd, revenue_counted_usd },
    }
  })
  return { rows, all_rows, missing_rates: await missingRates(fxRates, spent) }
}

type Row = ReportRow<'receipts'>

/** A row before its money is converted. */
interface JudgedRow extends Pick<Row, 'day' | 'verdict' | 'events'> {
  store: NonNullable<Row['store']> | ''
  reason: NonNullable<Row['reason']> | ''
  stated: Amount[]
  counted: Amount[]
}

/** Events with a receipt in the window: `key, date, store, verdict, reason` and what they state. */
const judgedSql = `
    SELECT key, date, store, verdict, if(key IN (
        SELECT ${moneyKey} FROM revenue_chosen_v1 FINAL WHERE ${wholeWindow} AND reused = 1), 'reused', judged) AS reason,
      has_money, currency, amount_micros
    FROM (
      SELECT ${moneyKey} AS key, day AS date, store, verdict, reason AS judged, has_money, currency, amount_micros
      FROM receipts_v1 FINAL
      WHERE ${wholeWindow}
    )`

const isJudged = `${moneyKey} IN (SELECT ${moneyKey} FROM receipts_v1 WHERE ${wholeWindow})`

/** Events and money by day, row and currency, which is empty for events without revenue. */
function amountsSql(passes: string, takenMoney: string | undefined): string {
  const moments = both(momentsOf('money'), takenMoney)!
  const at = { app_id: '{app_id:String}', days: '{window_days:Array(Date)}', moments }
  return `
  SELECT date, store, verdict, reason, code, sum(n) AS n, sum(stated) AS stated_micros, sum(counted) AS counted_micros
  FROM (
    SELECT date, store, verdict, reason, currency AS code, toUInt64(1) AS n, toInt128(amount_micros) AS stated, toInt128(0) AS counted
    FROM (${judgedSql}
    )
    UNION ALL
    SELECT date, store, verdict, reason, code, toUInt64(0) AS n, toInt128(0) AS stated, amount AS counted
    FROM (${countedSql(at, isJudged, `, ${moneyKey} AS key`)}
    ) AS money
    INNER JOIN (SELECT key, store, verdict, reason FROM (${judgedSql}
    )) AS judged USING (key)
  )
  WHERE ${passes}
  GROUP BY date, store, verdict, reason, code`
}

const pageSql = (amounts: string, period: string, allRows: string) => `
SELECT toString(${period}) AS day, store, verdict, reason, sum(n) AS events,
  groupArrayIf((toString(date), code, toString(stated_micros)), notEmpty(code)) AS stated,
  groupArrayIf((toString(date), code, toString(counted_micros)), notEmpty(code)) AS counted, ${allRows}
FROM (${amounts}
)
GROUP BY ${period}, store, verdict, reason
ORDER BY ${period}, store, verdict, reason
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`

/** The first day of each currency that an event of the window states or counts in, on any page. */
const spentSql = (amounts: string) => `
SELECT code AS currency, toString(min(date)) AS day
FROM (${amounts}
)
WHERE notEmpty(code)
GROUP BY code
ORDER BY code`
