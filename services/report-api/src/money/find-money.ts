import { addDays } from '@tributary/tables/settled/days'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import type { ReportSources } from '../report.ts'
import { end_of_days } from '../window-days.ts'
import { findRates, firstDays, type RateOf } from './money.ts'

type Statements = Pick<ReportSources, 'clickhouse'>

/** A UTC day that may have money, and how it can be read. */
export interface MoneyDay {
  day: string
  /** 1: its settled money is right. */
  is_settled: 0 | 1
  /** 1: its settled payments are right. */
  has_payments: 0 | 1
  /** The currencies of its settled money. */
  currencies: string[]
  /** 1: money of installs of the given days is among its settled money. */
  of_installs: 0 | 1
  /** The number of money events that its settled money counts; 0: none, or not noted. */
  events: number
  /** When the last of these events was received, Unix epoch ms. */
  last_received_ms: number
  /** The number of changes that did more than add events when it was settled. */
  other_changes: number
  /** 1: since it was settled, money events were added and nothing else changed. */
  only_added: 0 | 1
}

/** Days of money: both are part of it; `last_day` absent: up to the last day with money. */
export interface MoneyRange {
  app_id: string
  first_day: string
  last_day?: string
}

/**
 * The days of a range with money, ascending; an open range also has its first and its last day with money. Call it before the
 * statement that reads them (docs/decisions/reports.md#reports-find-settled-days-first). `install_days` are UTC days of installs.
 */
export function findMoneyDays(
  { clickhouse }: Statements,
  { app_id, first_day, last_day }: MoneyRange,
  install_days: readonly string[] = [],
): Promise<MoneyDay[]> {
  const inRange = 'app_id = {app_id:String} AND day >= {first_day:Date} AND day <= {last_day:Date}'
  const nothing =
    'emptyArrayString() AS codes, 0 AS paid, toUInt64(0) AS counted, toInt64(0) AS last, toUInt64(0) AS not_counted, toUInt64(0) AS noted_others'
  // A view that is one change behind shows the stamp of a row that leaves events out.
  const sql = `
SELECT toString(date) AS day, toUInt8(max(present) > 0 AND max(present) = max(settled) AND max(not_counted) = 0) AS is_settled,
  toUInt8(max(present) > 0 AND max(present) = max(payments)) AS has_payments, groupArrayArray(codes) AS currencies, max(paid) AS of_installs,
  max(counted) AS events, max(last) AS last_received_ms, max(noted_others) AS other_changes, toUInt8(events > 0 AND sum(others) = 0) AS only_added
FROM (
  SELECT day AS date, sum(rows) AS present, toUInt64(0) AS settled, toUInt64(0) AS payments, ${nothing},
    toInt64(sum(rows) - sum(added)) AS others
  FROM report_stamps_v1 WHERE ${inRange} AND source = 'money' GROUP BY date
  UNION ALL
  SELECT day AS date, toUInt64(0) AS present, stamp AS settled, toUInt64(0) AS payments,
    CAST(arrayDistinct(\`money.currency\`), 'Array(String)') AS codes,
    hasAny(\`ltv.install_day\`, {install_days:Array(Date)}) AS paid, events AS counted, last_received_ms AS last, left_out AS not_counted, other_changes AS noted_others,
    -toInt64(other_changes) AS others
  FROM settled_money_v1 FINAL WHERE ${inRange}
  UNION ALL
  SELECT day AS date, toUInt64(0) AS present, toUInt64(0) AS settled, max(stamp) AS payments, ${nothing}, toInt64(0) AS others
  FROM settled_payments_v1 WHERE ${inRange} GROUP BY date${last_day === undefined ? `${boundsSql(inRange, nothing)}` : ''}
)
GROUP BY date
ORDER BY date`
  return clickhouse.query(sql, { app_id, first_day, last_day: last_day ?? end_of_days, install_days })
}

/** The first day of events of installs of a day: a clock that is up to 24 hours slow dates them a day early. */
export const moneyFrom = (install_day: string): string =>
  install_day > first_date ? addDays(install_day, -1) : install_day
/** The first day that a Date of ClickHouse holds. */
export const first_date = '1970-01-01'

/** The same days, none of them settled: what a request asks of them is in no settled figure. */
export const asLive = (days: readonly MoneyDay[]): MoneyDay[] =>
  days.map((one) => ({ ...one, is_settled: 0, has_payments: 0, only_added: 0, currencies: [] }))

/** The days of which settled money is right. */
export const settledOf = (days: readonly MoneyDay[]): ReadonlySet<string> =>
  new Set(days.filter(({ is_settled }) => is_settled).map(({ day }) => day))

// A server may have lost stamps: days have money and no stamp then.
const boundsSql = (inRange: string, nothing: string) => `
  UNION ALL
  SELECT arrayJoin([min(day), max(day)]) AS date, toUInt64(0) AS present, toUInt64(0) AS settled, toUInt64(0) AS payments, ${nothing},
    toInt64(0) AS others
  FROM revenue_raw_v1 WHERE ${inRange} HAVING count() > 0`

export interface SpentRates {
  /** The days and currencies with a rate, ordered by currency and day. */
  rated: FxLookup[]
  rateOf: RateOf
  /** Currencies of money that lacks a rate. */
  missing_rates: string[]
}

/** Days of settled money, live ones, and days and currencies besides. */
interface SpentAtMost {
  days: readonly MoneyDay[]
  live: readonly string[]
  besides?: readonly FxLookup[]
}

/**
 * The rates of money. They are looked up by a list that may name more than was spent
 * (docs/decisions/money.md#rates-are-looked-up-by-a-longer-list): the currencies of settled days, and of all money on the `live` ones. Only
 * when one of them has no rate, `findSpent` names what was spent, ordered by currency and day.
 */
export async function findSpentRates(
  sources: Pick<ReportSources, 'clickhouse' | 'fxRates'>,
  app_id: string,
  { days, live, besides = [] }: SpentAtMost,
  findSpent: () => Promise<readonly FxLookup[]>,
): Promise<SpentRates> {
  const settled = days.filter(({ is_settled }) => is_settled)
  const at_most = [
    ...settled.flatMap(({ day, currencies }) => currencies.map((currency) => ({ day, currency }))),
    ...(await findLiveSpent(sources, app_id, live)),
    ...besides,
  ].toSorted((a, b) => compare(a.currency, b.currency) || compare(a.day, b.day))
  const rateOf = await findRates(sources.fxRates, at_most)
  const rated = at_most.filter((lookup) => rateOf(lookup) !== null)
  if (rated.length === at_most.length) return { rated, rateOf, missing_rates: [] }
  const spent = await findSpent()
  const rateOfSpent = await findRates(sources.fxRates, spent)
  const missing = firstDays(spent.filter((lookup) => rateOfSpent(lookup) === null))
  return { rated, rateOf, missing_rates: [...missing.keys()] }
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b)

function findLiveSpent({ clickhouse }: Statements, app_id: string, live: readonly string[]): Promise<FxLookup[]> {
  if (live.length === 0) return Promise.resolve([])
  return clickhouse.query<FxLookup>(
    `SELECT DISTINCT currency, toString(t.day) AS day FROM (
       SELECT currency, day FROM revenue_raw_v1 WHERE app_id = {app_id:String} AND day IN {live:Array(Date)}
       UNION ALL SELECT currency, day FROM revenue_chosen_v1 WHERE app_id = {app_id:String} AND day IN {live:Array(Date)}) AS t`,
    { app_id, live },
  )
}
