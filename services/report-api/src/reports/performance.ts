import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { default_dimensions } from '@tributary/contracts/report-parameters'
import { daysOf } from '@tributary/contracts/reports'
import { addDays, daysBetween } from '@tributary/tables/settled/days'
import type { FigureName } from '@tributary/tables/settled/figures'
import { findAllSettled } from '@tributary/tables/settled/find-settled'
import { activityDays, type CohortPair } from '@tributary/tables/settled/sql/cohorts'
import type { FxLookup } from '@tributary/tenancy/fx-rates'
import { factorsOf } from '../money/factors.ts'
import { asLive, findMoneyDays, findSpentRates, type MoneyDay, moneyFrom } from '../money/find-money.ts'
import { findTakenMoney } from '../money/taken-money.ts'
import { type Group, pageOf, totalsOf } from '../performance/rows.ts'
import {
  type Asked,
  costCurrenciesSql,
  groups_max,
  groupsSql,
  hasFrozenSql,
  isOfSubs,
  listFor,
  type Parts,
  partsOf,
  rowsSql,
  spentSql,
} from '../performance/statements.ts'
import { filterSql, type Report, type ReportSources } from '../report.ts'
import { windowDays } from '../window-days.ts'

/**
 * Installs of a period by what brought them, what they brought until now, and clicks and costs of the same period
 * (docs/rules.md#performance-report). A first statement finds the days and currencies of money, as of the report `ltv`. The last one gives all
 * rows: their number is limited, and the totals, the order by a ratio and the page are made of them here.
 */
export const performanceReport: Report<'performance'> = async (
  sources,
  { app_id, limit, offset, count_rows: _, filters, group, days: requested, by = default_dimensions, sort, ...window },
) => {
  const { clickhouse } = sources
  const ns = daysOf('performance', requested)
  const { passes, params: filtered } = filterSql(filters)
  const list = listFor(by, filters)
  const of_request = { by, group, days: ns, filters, passes, list, ...partsOf(by, filters) }
  const known = windowDays(window)
  if (known === null) {
    const totals = await totalsOf([], { ...of_request, sort, limit, offset })
    return { rows: [], all_rows: 0, missing_rates: [], totals }
  }
  const { first_day, last_day } = known
  const hasClicks = of_request.hasClicks && !(isOfSubs(filters) && (await hasFrozen(clickhouse, { app_id, ...known })))
  const takenMoney = await findTakenMoney(sources, app_id)
  const found_money = await findMoneyDays(sources, { app_id, first_day: moneyFrom(first_day) })
  const money = takenMoney === undefined ? found_money : asLive(found_money)
  const window_days = { first_day, last_day, money }
  const found = await findSettledParts(sources, app_id, { ...of_request, hasClicks, takenMoney }, window_days)
  const asked: Omit<Asked, 'factors'> = { ...of_request, hasClicks, takenMoney, parts: found.parts }
  const shown = { ...asked, sort, limit, offset }
  const params = { app_id, first_day, last_day, ...found.params, ...filtered }
  if (mayBeMany(asked)) {
    const [row] = await clickhouse.query<{ groups: number }>(groupsSql(asked), params)
    if (row!.groups > groups_max) throw tooManyRows()
  }
  const besides = asked.hasCosts ? await clickhouse.query<FxLookup>(costCurrenciesSql, params) : []
  const live = money.filter(({ is_settled }) => !is_settled).map(({ day }) => day)
  const { rated, rateOf, missing_rates } = await findSpentRates(sources, app_id, { days: money, live, besides }, () =>
    clickhouse.query<FxLookup>(spentSql(asked), params),
  )
  const factors = factorsOf(rated, rateOf)
  const sql = rowsSql({ ...asked, factors: Object.keys(factors) })
  const groups = await clickhouse.query<Group>(sql, { ...params, ...factors })
  if (groups.length > limits.report_grouped_rows_max) throw tooManyRows()
  const rows = await pageOf(groups, shown)
  return { rows, all_rows: groups.length, missing_rates, totals: await totalsOf(groups, shown) }
}

/** Of what is settled there are few groups, unless each period has each country. */
const mayBeMany = ({ list, group }: Pick<Asked, 'list' | 'group'>): boolean =>
  list === null || (list === 'countries' && group !== 'none')

interface Days {
  first_day: string
  last_day: string
  money: readonly MoneyDay[]
}

/** What is read as it is settled and what is worked out, as parameters. Nothing is settled of what no list has. */
async function findSettledParts(
  { clickhouse }: Pick<ReportSources, 'clickhouse'>,
  app_id: string,
  { list, days: ns, hasClicks, takenMoney }: Pick<Asked, 'list' | 'days' | 'hasClicks' | 'takenMoney'>,
  { first_day, last_day, money }: Days,
) {
  const window = { from: first_day, to: addDays(last_day, 1) }
  const money_days = money.map(({ day }) => day)
  const [first_money, last_money] = [money_days[0], money_days.at(-1)]
  const ofMoney = takenMoney === undefined && first_money !== undefined && last_money !== undefined
  const numbers = ns.filter((n) => n > 0)
  const settled = await findAllSettled(
    clickhouse,
    app_id,
    list === null
      ? { figures: {} }
      : {
          figures: {
            campaigns: window,
            ...(hasClicks && { clicks: window }),
            ...(ofMoney && { earnings: { from: first_money, to: addDays(last_money, 1) } }),
          },
          ...(numbers.length > 0 && { cohorts: { name: 'campaign_cohorts', ...window, numbers } }),
        },
  )
  const divided = (name: FigureName, days: readonly string[]) => {
    const found = new Set(settled.figures(name).settled_days)
    return { settled: days.filter((day) => found.has(day)), live: days.filter((day) => !found.has(day)) }
  }
  const days = daysBetween(window.from, window.to)
  const cohorts =
    list === null ? { settled: [], live: days.flatMap((day) => numbers.map((n) => ({ day, n }))) } : settled.cohorts
  const lists = {
    campaigns: divided('campaigns', days),
    clicks: divided('clicks', days),
    earnings: divided('earnings', money_days),
  }
  const isRead = ({ settled, live }: { settled: readonly unknown[]; live: readonly unknown[] }) => ({
    settled: settled.length > 0,
    live: live.length > 0 || settled.length === 0,
  })
  const parts: Parts = {
    campaigns: isRead(lists.campaigns),
    clicks: isRead(lists.clicks),
    earnings: isRead(lists.earnings),
    cohorts: isRead(cohorts),
  }
  const params = {
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, { settled, live }]) => [
        [`settled_${name}`, settled],
        [`live_${name}`, live],
      ]),
    ),
    ...pairsParams('settled', cohorts.settled),
    ...pairsParams('live', cohorts.live),
    activity_days: activityDays(cohorts.live),
  }
  return { parts, params }
}

const pairsParams = (name: string, pairs: readonly CohortPair[]) => ({
  [`${name}_days`]: pairs.map(({ day }) => day),
  [`${name}_numbers`]: pairs.map(({ n }) => n),
})

async function hasFrozen(clickhouse: ReportSources['clickhouse'], params: Record<string, unknown>): Promise<boolean> {
  const [row] = await clickhouse.query<{ has_frozen: number }>(hasFrozenSql, params)
  return row?.has_frozen === 1
}

const tooManyRows = () =>
  new CodedError('too_many_rows', {
    message: `An answer may have ${limits.report_grouped_rows_max} rows on all pages. Fewer dimensions, a longer period or a shorter window make less.`,
  })
