import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { organic } from '@tributary/contracts/attribution/verdict'
import { day_ms } from '@tributary/contracts/limits'
import { refundEvents } from '@tributary/contracts/rows'
import { type DaysOfApp, onDays } from './days-of-app.ts'
import { type GrownDays, isCounted } from './grown.ts'

/** SQL condition for a money event that is no refund (docs/rules.md#revenue). */
export const isPurchase = `event_name NOT IN (${textLiterals(refundEvents)})`

/** Names the same event in tables of money and of receipts. A hash, because sets of tuples from a subquery are slow. */
export const moneyKey = 'sipHash64(day, topic, partition, offset, event_key)'

const unverifiedSql = (app_id: string): string =>
  `SELECT ${moneyKey} FROM receipts_v1 FINAL WHERE app_id = ${app_id} AND verdict = 'unverified'`

/** SQL condition for events that have a receipt whose newest verdict is `unverified` (docs/rules.md#receipts-and-money). */
export const isUnverified = (app_id: string): string => `${moneyKey} IN (${unverifiedSql(app_id)})`
/** SQL condition for all other events. Settled figures know nothing of it. */
export const isNotUnverified = (app_id: string): string => `${moneyKey} NOT IN (${unverifiedSql(app_id)})`

/**
 * Events whose money counts, with the amount that a receipt chose where one did: `date, ts, correction, install_key, event_name, code,
 * amount`. `taken` is a further condition on them, and `more` holds further columns, each after a comma.
 */
export function countedSql(at: DaysOfApp, taken = '1', more = ''): string {
  const columns = `day AS date, ts_ms AS ts, correction_ms AS correction, install_key, event_name, currency AS code, toInt128(amount_micros) AS amount${more}`
  return `
      SELECT ${columns}
      FROM revenue_raw_v1
      WHERE ${onDays(at)} AND ${taken}
        AND ${moneyKey} NOT IN (SELECT ${moneyKey} FROM revenue_cancelled_v1 WHERE ${onDays(at)})
      UNION ALL
      SELECT ${columns}
      FROM revenue_chosen_v1 FINAL
      WHERE ${onDays(at)} AND ${taken} AND counts = 1`
}

/**
 * The newest verdict of each install with money: `install_key, verdict, installed_on, installed_ms, again`. The table is a set:
 * `DISTINCT` takes each row once, so that no `FINAL` has to merge parts.
 */
const verdictsSql = (at: DaysOfApp): string => `
      SELECT install_key, verdict, installed_on, installed_ms, again
      FROM (
        SELECT DISTINCT install_key, row_key, sign, partner AS verdict, day AS installed_on, installed_at_ms AS installed_ms, reinstall AS again
        FROM installs_by_key_v1
        WHERE app_id = ${at.app_id} AND install_key IN (${payingSql(at)})
      )
      GROUP BY install_key, verdict, installed_on, installed_ms, again
      HAVING sum(sign) > 0`

const payingSql = (at: DaysOfApp): string => `SELECT install_key FROM revenue_raw_v1 WHERE ${onDays(at)}`

/**
 * The events whose money counts with the newest verdict of their install (docs/rules.md#revenue-report): `date, ts, correction,
 * install_key, event_name, code, amount, partner`. `verdict` is empty without one; then `installed_on`, `installed_ms` and
 * `again` (1 for a reinstall) say nothing.
 */
export const moneyEventsSql = (at: DaysOfApp): string => `
    SELECT *, if(empty(verdict), ${textLiteral(organic)}, verdict) AS partner
    FROM (${countedSql(at)}
    ) AS counted
    LEFT JOIN (${verdictsSql(at)}
    ) AS verdicts USING (install_key)`

/**
 * The same events of live days, and of days that have grown, with `is_new`: 0 for events that settled money counts. Those are left out
 * if their install did not pay since.
 */
export function grownMoneySql(live: DaysOfApp, grown: GrownDays): string {
  const at = { ...live, days: `arrayConcat(${live.days}, ${grown.days})` }
  const since = { ...at, moments: `${live.moments ?? '1'} AND NOT ${isCounted(grown)}` }
  return `
    SELECT *, if(empty(verdict), ${textLiteral(organic)}, verdict) AS partner
    FROM (${countedSql(at, `install_key IN (${payingSql(since)})`, `, NOT ${isCounted(grown)} AS is_new`)}
    ) AS counted
    LEFT JOIN (${verdictsSql(since)}
    ) AS verdicts USING (install_key)`
}

/**
 * The same events as they are settled. `number` numbers the installs of a day: a hash would be of a person, and outlive its erasure
 * until the day is settled again. `is_new` is 1 for an install with a verdict that is no reinstall.
 */
export const paymentsSql = (at: DaysOfApp): string => `
  SELECT date, ts AS ts_ms, correction AS correction_ms, toUInt32(dense_rank() OVER (PARTITION BY date ORDER BY install_key)) AS number, event_name,
    code AS currency, amount AS micros, partner, toUInt8(notEmpty(verdict) AND again = 0) AS is_new, installed_ms AS installed_at_ms
  FROM (${moneyEventsSql(at)}
  )`

/** Money by day, partner and currency. `amounts` counts those other than 0. */
export const moneySql = (at: DaysOfApp): string => `
  SELECT date, partner, code AS currency, countIf(${isPurchase}) AS purchases, sum(amount) AS micros,
    countIf(amount != 0) AS amounts
  FROM (${moneyEventsSql(at)}
  )
  GROUP BY date, partner, currency`

/** Paying installs by day, partner and the set of currencies that they paid in, whatever rates are known. */
export const payersSql = (at: DaysOfApp): string => `
  SELECT date, partner, currencies, count() AS installs
  FROM (
    SELECT date, partner, install_key, arraySort(groupUniqArray(code)) AS currencies
    FROM (${moneyEventsSql(at)}
    )
    WHERE ${isPurchase} AND amount > 0
    GROUP BY date, partner, install_key
  )
  GROUP BY date, partner, currencies`

/** SQL of the time from the install to an event in milliseconds (docs/rules.md#age-of-an-event); negative before the install. */
const since = 'ts + correction - installed_ms'

/** Columns of money by the age of its install: `age` is the number of whole 24 hours since the install time. */
const ltvColumns = `date, installed_on AS install_day, partner, toUInt16(intDiv(${since}, ${day_ms})) AS age,
    code AS currency, sum(amount) AS micros, countIf(amount != 0) AS amounts`

/** Money of new installs from the install time on, by its day, the day of the install, partner, age and currency. */
export const ltvSql = (at: DaysOfApp): string => `
  SELECT ${ltvColumns}
  FROM (${moneyEventsSql(at)}
  )
  WHERE notEmpty(verdict) AND again = 0 AND ${since} >= 0
  GROUP BY date, install_day, partner, age, currency`

/** The same rows of settled payments (`settledSql`), of the installs of some days. */
export const ltvOfPaymentsSql = (payments: string, { days, moments = '1' }: Omit<DaysOfApp, 'app_id'>): string => `
  SELECT date, toDate(fromUnixTimestamp64Milli(installed_at_ms, 'UTC')) AS install_day, partner,
    toUInt16(intDiv(ts_ms + correction_ms - installed_at_ms, ${day_ms})) AS age, currency, sum(micros) AS sum, countIf(micros != 0) AS amounts
  FROM (${payments}
  )
  WHERE is_new = 1 AND ${moments} AND ts_ms + correction_ms >= installed_at_ms AND install_day IN ${days}
  GROUP BY date, install_day, partner, age, currency`

/** The same rows of some money of some installs: `of` takes the installs. */
export const ltvOfInstallsSql = (of: DaysOfApp, money: Omit<DaysOfApp, 'app_id'>): string => `
  SELECT ${ltvColumns}
  FROM (${countedSql(
    { app_id: of.app_id, ...money },
    `install_key IN (SELECT install_key FROM installs_by_day_v1 WHERE ${onDays(of)})`,
  )}
  ) AS counted
  INNER JOIN (
      SELECT install_key, partner, day AS installed_on, installed_at_ms AS installed_ms
      FROM installs_by_day_v1 FINAL
      WHERE ${onDays(of)} AND reinstall = 0
      GROUP BY install_key, partner, installed_on, installed_ms
      HAVING sum(sign) > 0
  ) AS cohort USING (install_key)
  WHERE ${since} >= 0
  GROUP BY date, install_day, partner, age, currency`
