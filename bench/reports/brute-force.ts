import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import type { ReportName } from '@tributary/contracts/reports'
import { usdE5 } from './model.ts'

interface Window {
  since_ms: number
  until_ms: number
}
/** A question to a report: a name of its own, and parameters besides the window. */
export interface Question {
  report: Exclude<ReportName, 'skan' | 'costs'>
  asked: Readonly<Record<string, string>>
}
/** Questions about events. Postbacks have a bench of their own. */
export const questions = {
  ...plain('attribution', 'events', 'revenue', 'cohorts', 'ltv'),
  'performance by day': { report: 'performance', asked: {} },
  'performance by month': { report: 'performance', asked: { group: 'month' } },
  'performance by country': {
    report: 'performance',
    asked: { group: 'none', by: 'partner,campaign,country', days: '0,7,30' },
  },
} as const satisfies Record<string, Question>
export type Measured = keyof typeof questions

function plain<Name extends Question['report']>(...names: Name[]) {
  return Object.fromEntries(names.map((report) => [report, { report, asked: {} }])) as Record<
    Name,
    { report: Name; asked: Readonly<Record<string, string>> }
  >
}

/** Sums of micros by `YYYY-MM-DD/CUR`, as `sumMap` gives them. */
type Money = [keys: string[], micros: (string | number)[]]

interface BruteForce {
  /** Over raw events and verdicts alone. `app` is a literal. */
  sql: (app: string, window: Window) => string
  rowOf: (found: Found) => object
}

/** Fields of a statement that its row is worked out from; each has some of them. */
interface Found {
  installs: number
  d1: number
  d7: number
  d30: number
  /** Installs with a payment above 0. */
  paying: number
  money: Money
  /** Money since the install: all of it, and until the end of a day. */
  m: Money
  m0: Money
  m7: Money
  m30: Money
  cost: Money
}

/** The rows of a report from one statement over every raw event and verdict of the window. */
export async function bruteForce(
  clickhouse: Pick<Clickhouse, 'query'>,
  name: Measured,
  app_id: string,
  window: Window,
): Promise<{ rows: object[]; ms: number }> {
  const { sql, rowOf } = statements[name]
  const started = performance.now()
  const found = await clickhouse.query<Found>(`${sql(`'${app_id}'`, window)}\n${settings}`)
  return { rows: found.map(rowOf), ms: performance.now() - started }
}

// The disk takes what exceeds the memory of the embedded engine.
const settings =
  "SETTINGS max_bytes_before_external_group_by = 300000000, max_bytes_before_external_sort = 300000000, join_algorithm = 'grace_hash', max_bytes_in_join = 300000000"

const between = (column: string, { since_ms, until_ms }: Window) =>
  `${column} >= ${since_ms} AND ${column} < ${until_ms}`

/** Each install with its newest verdict. */
const verdicts = (app: string, where = '1', more: readonly string[] = []) => `
  SELECT install_uuid, day AS installed_day, installed_at_ms, ${more.map((one) => `toString(${one}) AS ${one}, `).join('')}toString(partner) AS partner, attribution_type, reinstall, notEmpty(fraud_flags) AS flagged
  FROM installs_v1 FINAL WHERE app_id = ${app} AND pending = 0 AND ${where}
  GROUP BY ALL HAVING sum(sign) > 0`

/** Each event whose money counts. */
const paidEvents = (app: string, where = '1') => `
  SELECT install_uuid, ts_ms + correction_ms AS corrected_ms, day, event_name, toString(currency) AS code, toInt64(assumeNotNull(revenue_micros)) AS micros
  FROM events_raw_v1 WHERE app_id = ${app} AND revenue_counts = 1 AND revenue_micros IS NOT NULL AND ${where}
    AND (event_key, topic, partition, offset) NOT IN
      (SELECT event_key, topic, partition, offset FROM revenue_cancelled_v1 WHERE app_id = ${app})`

const moneyKey = `[concat(toString(day), '/', code)]`
const purchased = `event_name NOT IN ('purchase_refunded', 'subscription_refunded')`
const inDay = (n: number) =>
  `corrected_ms >= installed_at_ms + ${n} * ${day_ms} AND corrected_ms < installed_at_ms + ${n + 1} * ${day_ms}`

const statements: Record<Measured, BruteForce> = {
  attribution: {
    sql: (app, window) => `
      SELECT toString(installed_day) AS day, partner, attribution_type, countIf(NOT reinstall) AS installs,
        countIf(NOT reinstall AND attribution_type = 'organic') AS organic, countIf(reinstall) AS reinstalls,
        countIf(flagged AND NOT reinstall) AS fraud_flagged
      FROM (${verdicts(app, between('installed_at_ms', window))})
      GROUP BY ALL ORDER BY day, partner, attribution_type`,
    rowOf: (found) => found,
  },
  revenue: {
    sql: (app, window) => `
      SELECT toString(day) AS day, if(empty(v.partner), 'organic', v.partner) AS partner, countIf(${purchased}) AS purchases,
        uniqExactIf(install_uuid, micros > 0 AND ${purchased}) AS paying, sumMap(${moneyKey}, [micros]) AS money
      FROM (${paidEvents(app, between('ts_ms', window))}) AS e
      LEFT JOIN (${verdicts(app)}) AS v USING (install_uuid)
      GROUP BY day, partner ORDER BY day, partner`,
    rowOf: ({ paying, money, ...row }) => ({
      ...row,
      ...{ revenue_usd: usd(money), arppu_usd: paying === 0 ? 0 : usd(money, paying) },
    }),
  },
  cohorts: {
    sql: (app, window) => `
      WITH fresh AS (${verdicts(app, `reinstall = 0 AND ${between('installed_at_ms', window)}`)})
      SELECT toString(installed_day) AS day, count() AS installs, sum(on_1) AS d1, sum(on_7) AS d7, sum(on_30) AS d30
      FROM (
        SELECT installed_day, install_uuid, max(a) AS on_1, max(b) AS on_7, max(c) AS on_30 FROM (
          SELECT installed_day, install_uuid, 0 AS a, 0 AS b, 0 AS c FROM fresh
          UNION ALL
          SELECT installed_day, install_uuid, ${inDay(1)} AS a, ${inDay(7)} AS b, ${inDay(30)} AS c
          FROM (SELECT install_uuid, ts_ms + correction_ms AS corrected_ms FROM events_raw_v1 WHERE app_id = ${app}) AS e INNER JOIN fresh USING (install_uuid)
          WHERE a OR b OR c
        ) GROUP BY installed_day, install_uuid
      )
      GROUP BY installed_day ORDER BY installed_day`,
    rowOf: (found) => {
      const rate = (n: number) => Math.round((n * 10_000) / found.installs) / 10_000
      return { ...found, d1_rate: rate(found.d1), d7_rate: rate(found.d7), d30_rate: rate(found.d30) }
    },
  },
  events: {
    sql: (app, window) => `
      SELECT toString(day) AS day, event_name, count() AS events, uniqExact(install_uuid) AS unique_installs,
        sumMapIf([concat(toString(day), '/', toString(currency))], [toInt64(ifNull(revenue_micros, 0))], revenue_counts = 1) AS money
      FROM events_raw_v1 WHERE app_id = ${app} AND ${between('ts_ms', window)}
      GROUP BY day, event_name ORDER BY day, event_name`,
    rowOf: ({ money, ...row }) => ({ ...row, revenue_usd: usd(money) }),
  },
  ltv: {
    sql: (app, window) => `
      WITH fresh AS (${verdicts(app, `reinstall = 0 AND ${between('installed_at_ms', window)}`)})
      SELECT toString(installed_day) AS day, partner, toUInt64(sum(one)) AS installs, ${[null, 0, 7, 30]
        .map(
          (n) =>
            `sumMapIf(${moneyKey.replace('day', 'paid_day')}, [micros], code != '' ${n === null ? '' : `AND corrected_ms < installed_at_ms + ${n + 1} * ${day_ms}`}) AS m${n ?? ''}`,
        )
        .join(', ')}
      FROM (
        SELECT installed_day, partner, 1 AS one, '' AS code, toInt64(0) AS micros, installed_day AS paid_day, installed_at_ms, installed_at_ms AS corrected_ms
        FROM fresh
        UNION ALL
        SELECT installed_day, partner, 0, code, micros, e.day, installed_at_ms, corrected_ms
        FROM (${paidEvents(app)}) AS e INNER JOIN fresh USING (install_uuid) WHERE corrected_ms >= installed_at_ms
      )
      GROUP BY installed_day, partner ORDER BY installed_day, partner`,
    rowOf: ({ m, m0, m7, m30, ...row }) => ({
      ...{ ...row, revenue_usd: usd(m) },
      ...{ d0_revenue_usd: usd(m0), d7_revenue_usd: usd(m7), d30_revenue_usd: usd(m30) },
      ...{
        d0_arpi_usd: usd(m0, row.installs),
        d7_arpi_usd: usd(m7, row.installs),
        d30_arpi_usd: usd(m30, row.installs),
      },
    }),
  },
  'performance by day': performanceOf('toString(installed_day)', ['partner', 'campaign'], []),
  'performance by month': performanceOf('toString(toStartOfMonth(installed_day))', ['partner', 'campaign'], []),
  'performance by country': performanceOf("''", ['partner', 'campaign', 'country'], [0, 7, 30]),
}

/** Clicks, costs, and installs with their money and retention, over raw rows; windows move outward to midnights. */
function performanceOf(period: string, by: readonly string[], ns: readonly number[]): BruteForce {
  const labels = by.join(', ')
  const keys = [period === "''" ? [] : ['day'], by].flat().join(', ')
  const numbers = { n_clicks: '0', n_fresh: '0', n_again: '0', n_flagged: '0', n_bought: '0', n_paying: '0' }
  const zeros: Record<string, string> = {
    ...numbers,
    code: "''",
    money_day: "toDate('1970-01-01')",
    micros: '0',
    age: '-1',
    cost_code: "''",
  }
  for (const n of ns.filter((one) => one > 0)) zeros[`came_${n}`] = '0'
  const part = (values: Record<string, string>, from: string) =>
    `SELECT installed_day, ${labels}, ${Object.entries(zeros)
      .map(([name, zero]) => `${values[name] ?? zero} AS ${name}`)
      .join(', ')} FROM ${from}`
  return {
    sql(app, { since_ms, until_ms }) {
      const days = { since_ms: floor(since_ms), until_ms: floor(until_ms - 1) + day_ms }
      const all = verdicts(app, between('installed_at_ms', days), ['campaign', 'country'])
      const fresh = `(SELECT * FROM (${all}) WHERE reinstall = 0)`
      const parts = [
        part({ n_fresh: 'NOT reinstall', n_again: 'reinstall', n_flagged: 'NOT reinstall AND flagged' }, `(${all})`),
        part(
          {
            code: 'code',
            money_day: 'e.day',
            micros: 'micros',
            n_bought: purchased,
            age: `intDiv(corrected_ms - installed_at_ms, ${day_ms})`,
          },
          `(${paidEvents(app)}) AS e INNER JOIN ${fresh} AS f USING (install_uuid) WHERE corrected_ms >= installed_at_ms`,
        ),
        part(
          { n_paying: '1' },
          `(SELECT DISTINCT install_uuid, installed_day, ${labels} FROM (${paidEvents(app)}) AS e INNER JOIN ${fresh} AS f USING (install_uuid)
             WHERE corrected_ms >= installed_at_ms AND micros > 0 AND ${purchased})`,
        ),
        part(
          { n_clicks: '1' },
          `(SELECT click_id, day AS installed_day, partner, campaign, JSONExtractString(click, 'country') AS country FROM clicks_raw_v1
             WHERE app_id = ${app} AND filtered_reason = '' AND ${between('clicked_at_ms', days)})`,
        ),
        part(
          { cost_code: 'cost_currency', money_day: 'installed_day', micros: 'cost' },
          `(SELECT day AS installed_day, toString(partner) AS partner, toString(campaign) AS campaign, toString(country) AS country,
             toString(currency) AS cost_currency, cost_micros AS cost FROM costs_v1 FINAL
             WHERE app_id = ${app} AND ${between('toUnixTimestamp(day) * 1000', days)})`,
        ),
        ...ns
          .filter((n) => n > 0)
          .map((n) =>
            part(
              { [`came_${n}`]: '1' },
              `(SELECT DISTINCT install_uuid, installed_day, ${labels} FROM
               (SELECT install_uuid, ts_ms + correction_ms AS corrected_ms FROM events_raw_v1 WHERE app_id = ${app}) AS e
               INNER JOIN ${fresh} AS f USING (install_uuid) WHERE ${inDay(n)})`,
            ),
          ),
      ]
      const money = [null, ...ns].map(
        (n) =>
          `sumMapIf([concat(toString(money_day), '/', code)], [toInt64(micros)], code != '' ${n === null ? '' : `AND age <= ${n}`}) AS m${n ?? ''}`,
      )
      return `
      SELECT ${period === "''" ? '' : `${period} AS day, `}${labels}, sum(n_clicks) AS clicks, sum(n_fresh) AS installs, sum(n_again) AS reinstalls,
        sum(n_flagged) AS fraud_flagged, sum(n_bought) AS purchases, sum(n_paying) AS payers, ${money.join(', ')},
        sumMapIf([concat(toString(money_day), '/', cost_code)], [toInt64(micros)], cost_code != '') AS cost
        ${ns.map((n) => `, ${n === 0 ? 'sum(n_fresh)' : `sum(came_${n})`} AS d${n}_retained`).join('')}
      FROM (${parts.join(' UNION ALL ')})
      GROUP BY ${keys} ORDER BY ${keys}`
    },
    rowOf({ cost, m, m0, m7, m30, ...row }) {
      const money: Record<string, Money> = { d0: m0, d7: m7, d30: m30 }
      const roas = (earned: Money) => (cost[0].length === 0 ? null : ratio(earned, cost))
      const of_days = ns.map((n) => ({
        [`d${n}_rate`]:
          row.installs === 0
            ? 0
            : Math.round((Number(Reflect.get(row, `d${n}_retained`)) * 10_000) / row.installs) / 10_000,
        [`d${n}_revenue_usd`]: usd(money[`d${n}`]!),
        [`d${n}_roas`]: roas(money[`d${n}`]!),
      }))
      return {
        ...{ ...row, revenue_usd: usd(m), cost_usd: cost[0].length === 0 ? null : usd(cost), roas: roas(m) },
        cpi_usd: cost[0].length === 0 || row.installs === 0 ? null : usd(cost, row.installs),
        ...Object.assign({}, ...of_days),
      }
    },
  }
}
const floor = (ms: number) => Math.floor(ms / day_ms) * day_ms

/** One sum in USD by another one, rounded to 4 places. */
function ratio(over: Money, under: Money): number {
  const [a, b] = [sumE5(over) * 10_000n, sumE5(under)]
  const size = a < 0n ? -a : a
  const places = Number((size * 2n + b) / (b * 2n)) / 10_000
  return a < 0n ? 0 - places : places
}

/** The sum in USD at the rate of each day, shared by `sharers`, rounded once to 4 places, halves away from zero. */
function usd(money: Money, sharers = 1): number {
  const sum = sumE5(money)
  const unit = 10_000_000n * BigInt(sharers)
  const size = sum < 0n ? -sum : sum
  const places = Number((size * 2n + unit) / (unit * 2n)) / 10_000
  return sum < 0n ? 0 - places : places
}

/** The sum in micros of USD, in hundred-thousandths. */
const sumE5 = ([keys, micros]: Money): bigint =>
  keys.reduce((total, key, n) => {
    const [day = '', currency = ''] = key.split('/')
    return total + BigInt(micros[n]!) * usdE5(currency, day)
  }, 0n)
