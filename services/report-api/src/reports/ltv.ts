import { daysOf, type ReportRow } from '@tributary/contracts/reports'
import { factoredUsd } from '@tributary/domain/money/money-usd'
import { addDays } from '@tributary/tables/settled/days'
import { isCounted } from '@tributary/tables/settled/sql/grown'
import { ltvOfInstallsSql, ltvOfPaymentsSql } from '@tributary/tables/settled/sql/money'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { factorsOf, factorsSql } from '../money/factors.ts'
import {
  asLive,
  findMoneyDays,
  findSpentRates,
  first_date,
  type MoneyDay,
  moneyFrom,
  settledOf,
} from '../money/find-money.ts'
import { grownDays, readGrown } from '../money/grown-money.ts'
import { findTakenMoney } from '../money/taken-money.ts'
import { ofWindowSql, splitFilters } from '../of-installs.ts'
import { allRowsSql, queryPage } from '../query-page.ts'
import { filterSql, type Report } from '../report.ts'
import { firstDayOf, windowDays } from '../window-days.ts'
import {
  both,
  daysParams,
  divideDays,
  type FoundDays,
  findDays,
  momentsOf,
  settledPaymentsSql,
  windowSql,
} from '../window-rows.ts'

/**
 * Money of the installs of a period since their install (docs/rules.md#ltv-report). A first statement finds the days and
 * currencies of that money. The last one multiplies each amount by the rate of its day and adds up, since the money of a year
 * is too much to be added here.
 */
export const ltvReport: Report<'ltv'> = async (
  sources,
  { app_id, limit, offset, count_rows, filters, group, days: requested, ...window },
) => {
  const known = windowDays(window)
  if (known === null) return { rows: [], all_rows: 0, missing_rates: [] }
  const { clickhouse } = sources
  const { of_rows, ofVerdicts } = splitFilters(filters)
  const { passes } = filterSql(of_rows)
  const { params: filtered } = filterSql(filters)
  const { first_day, edge_days } = known
  const ns = daysOf('ltv', requested)
  const found = await findMoneyDays(sources, { app_id, first_day: moneyFrom(first_day) }, edge_days)
  const ofInstalls = ofWindowSql(ofVerdicts, 'installs')
  const ofMoney = both(ofWindowSql(ofVerdicts, 'money'), await findTakenMoney(sources, app_id))
  const stored = ofMoney === undefined ? found : asLive(found)
  return readGrown({ sources, app_id, stored }, async (money_days, grown) => {
    const divided = divideDays('money', boundsOf(money_days), settledOf(money_days))
    // The live days bring the money that came since a day was settled, too.
    const money = { ...divided, live: [...divided.live, ...grown.grown_days] }
    const installs =
      ofVerdicts === null
        ? await findDays(sources, 'installs', app_id, known)
        : divideDays('installs', known, new Set())
    const late = findLate(money.live, money_days, edge_days[0])
    const earned = earnedSql(money, late, { hasGrown: grown.grown_days.length > 0, passes, ofMoney, ofInstalls })
    const params = {
      ...{ app_id, ...known, ...daysParams(installs), ...daysParams(money), ...filtered },
      ...{ ...late, ...grown },
    }
    const money_found = { days: money_days, live: divided.live }
    const { rated, rateOf, missing_rates } = await findSpentRates(sources, app_id, money_found, () =>
      clickhouse.query<FxLookup>(spentSql(earned), params),
    )
    const factors = factorsOf(rated, rateOf)
    const asked = { limit, offset, count_rows }
    const installsRows = windowSql(installs, 'groups', { ofInstalls })
    const sql = pageSql(
      installsRows,
      firstDayOf[group]('date'),
      earned,
      passes,
      Object.keys(factors),
      allRowsSql(asked),
    )
    const { page, all_rows } = await queryPage<EarnedRow>(clickhouse, sql, { ...params, ...factors, ns }, asked)
    return { rows: page.map((row) => rowOf(row, ns)), all_rows, missing_rates }
  })
}

/**
 * Days of money from the first day of the window on: installs go on paying behind its end. Days before all money are left out: a
 * window may begin in 1970, and a list of so many days is more than a parameter may have.
 */
function boundsOf(days: readonly MoneyDay[]) {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return { whole_from: first_date, whole_to: first_date, edge_days: [] }
  return { whole_from: first.day, whole_to: addDays(last.day, 1), edge_days: [] }
}

/** The days with money of installs of partly covered days: those whose payments are settled, and the others. */
interface Late {
  late_payments: readonly string[]
  late_money: readonly string[]
}

/** `unnamed` are the days whose money may be of any install. */
function findLate(unnamed: readonly string[], money_days: readonly MoneyDay[], first_edge: string | undefined): Late {
  if (first_edge === undefined) return { late_payments: [], late_money: [] }
  const named = money_days.filter(({ is_settled, of_installs }) => is_settled && of_installs).map(({ day }) => day)
  const late = [...new Set([...named, ...unnamed])].filter((day) => day >= moneyFrom(first_edge))
  const with_payments = new Set(money_days.filter(({ has_payments }) => has_payments).map(({ day }) => day))
  return {
    late_payments: late.filter((day) => with_payments.has(day)),
    late_money: late.filter((day) => !with_payments.has(day)),
  }
}

interface EarnedRow {
  day: string
  partner: string
  installs: number
  /** Sums of micros times factors, as text, each with the number of requested days that end before the money came. */
  earned: [late: number, usd: string][]
}

function rowOf({ day, partner, installs, earned }: EarnedRow, ns: readonly number[]): ReportRow<'ltv'> {
  const sums = Array.from({ length: ns.length + 1 }, () => 0n)
  for (const [late, usd] of earned) for (let at = late; at < sums.length; at++) sums[at] = sums[at]! + BigInt(usd)
  const columns = ns.map((n, at) => [`d${n}_revenue_usd`, factoredUsd(sums[at]!)])
  const shares = ns.map((n, at) => [`d${n}_arpi_usd`, factoredUsd(sums[at]!, installs)])
  return {
    day,
    partner,
    installs,
    revenue_usd: factoredUsd(sums.at(-1)!),
    ...Object.fromEntries([...columns, ...shares]),
  }
}

/** Which money is taken: `passes` of rows, `ofMoney` of live money, `ofInstalls` of the installs that it came from. */
interface Taken {
  hasGrown: boolean
  passes: string
  ofMoney: string | undefined
  ofInstalls: string | undefined
}

/**
 * Money of the installs of the window: `on` the day of the install, `partner, money_day, age, code, micros, amounts`. That of
 * partly covered days of install is looked up by install, since the sums of a day do not know when on a day an install was.
 */
const earnedSql = (
  money: FoundDays<'money'>,
  { late_payments, late_money }: Late,
  { hasGrown, passes, ofMoney, ofInstalls }: Taken,
) => `
    SELECT install_day AS on, partner, date AS money_day, age, currency AS code, micros, amounts
    FROM (
      SELECT * FROM (${windowSql(money, 'ltv', { ofLive: hasGrown ? `NOT ${isCounted(grownDays)}` : undefined, ofInstalls: ofMoney })}
      )
      WHERE install_day >= {whole_from:Date} AND install_day < {whole_to:Date}
      ${late_payments.length > 0 ? `UNION ALL ${ltvOfPaymentsSql(settledPaymentsSql('late_payments'), edge)}` : ''}
      ${late_money.length > 0 ? `UNION ALL ${ltvOfInstallsSql({ ...edge, moments: both(edge.moments, ofInstalls)! }, { days: '{late_money:Array(Date)}', ...(ofMoney && { moments: ofMoney }) })}` : ''}
    )
    WHERE ${passes}`

const edge = {
  app_id: '{app_id:String}',
  days: '{edge_days:Array(Date)}',
  moments: momentsOf('installs'),
}

/** Each day with such money of a currency, be it 0. */
const spentSql = (earned: string) => `
SELECT code AS currency, toString(money_day) AS day
FROM (${earned}
)
GROUP BY code, money_day
ORDER BY code, money_day`

const pageSql = (
  installs: string,
  period: string,
  earned: string,
  passes: string,
  factors: readonly string[],
  allRows: string,
) => `
SELECT toString(${period}) AS day, partner, sum(fresh) AS installs, groupArrayIf((late, toString(usd)), fresh = 0) AS earned,
  ${allRows}
FROM (
  SELECT date, partner, toUInt64(sum(installs)) AS fresh, toUInt64(0) AS late, toInt256(0) AS usd
  FROM (${installs}
  )
  WHERE ${passes}
  GROUP BY date, partner
  UNION ALL
  SELECT on AS date, partner, toUInt64(0) AS fresh, arrayCount(n -> n < age, {ns:Array(UInt16)}) AS late, sum(micros * factor) AS usd
  FROM (${earned}
  ) AS earned
  INNER JOIN (${factorsSql(factors)}
  ) AS factors USING (money_day, code)
  GROUP BY date, partner, late
)
GROUP BY ${period}, partner
HAVING installs > 0
ORDER BY ${period}, partner
LIMIT {limit:UInt32} OFFSET {offset:UInt64}`
