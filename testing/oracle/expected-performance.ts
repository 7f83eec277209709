import { day_ms } from '@tributary/contracts/limits'
import { default_dimensions, type ReportDimension, reportDimensions } from '@tributary/contracts/report-parameters'
import { exactUsd, type Fraction, hasRate, isRefund, lacking, type Money, rounded } from './counted.ts'
import {
  type ClickRow,
  type CostUpload,
  correctedTime,
  type DecidedInstall,
  midnight,
  type Rate,
  type SentEvent,
} from './history.ts'
import { type ExpectedReport, inside, keyOfPeriod, type Question, sortedSet } from './question.ts'

/** The sources of the report: events and money that count, newest verdicts, clicks and uploads of costs. */
export interface PerformanceSources {
  events: readonly SentEvent[]
  money: readonly Money[]
  installs: ReadonlyMap<string, DecidedInstall>
  clicks: readonly ClickRow[]
  frozen: readonly string[]
  costs: readonly CostUpload[]
  rates: readonly Rate[]
}

/** Something that belongs to a row. */
interface Item {
  at_ms: number
  valueOf(dimension: ReportDimension): string
}

const of_costs: readonly ReportDimension[] = ['partner', 'campaign', 'ad_group', 'country']
const not_of_clicks = /^(sub\d|attribution_type)$/

/** The report `performance` by the words of the specification; `meta.totals` come with it. */
export function performanceReport(sources: PerformanceSources, asked: Question): ExpectedReport {
  const by = asked.by ?? default_dimensions
  const question = { ...asked, since_ms: midnight(asked.since_ms, 0), until_ms: midnight(asked.until_ms - 1, 1) }
  const filtered = reportDimensions.filter((name) => asked[name] !== undefined)
  const passes = (item: Item) =>
    inside(question, item.at_ms) && filtered.every((name) => asked[name]!.includes(item.valueOf(name)))
  const installs = [...sources.installs.values()].map((one) => ({ ...one, ...installItem(one) })).filter(passes)
  const hasFrozen = sources.frozen.some((day) => inside(question, Date.parse(day)))
  const hasClicks =
    !by.some((one) => not_of_clicks.test(one)) &&
    !filtered.includes('attribution_type') &&
    !(hasFrozen && filtered.some((one) => one.startsWith('sub')))
  const clicks = hasClicks
    ? countedClicks(sources.clicks)
        .map((one) => ({ ...one, ...clickItem(one) }))
        .filter(passes)
    : null
  const hasCosts = [...by, ...filtered].every((one) => of_costs.includes(one))
  const costs = hasCosts
    ? newestCosts(sources.costs)
        .map((one) => ({ ...one, ...costItem(one) }))
        .filter(passes)
    : null

  const keyOf = (item: Item) =>
    JSON.stringify([keyOfPeriod(question, item.at_ms), ...by.map((one) => item.valueOf(one))])
  const keys = sortedSet([...installs, ...(clicks ?? []), ...(costs ?? [])].map(keyOf))
  const figuresOf = (isOf: (item: Item) => boolean) =>
    figures(sources, question, {
      installs: installs.filter(isOf),
      clicks: clicks?.filter(isOf) ?? null,
      costs: costs?.filter(isOf) ?? null,
    })
  const rows = keys.map((key) => {
    const [day, ...values] = JSON.parse(key) as [string, ...string[]]
    const named = Object.fromEntries(by.map((one, n) => [one, values[n]!]))
    return {
      ...(asked.group !== 'none' && { day }),
      ...named,
      ...figuresOf((item) => keyOf(item) === key),
    }
  })
  const fresh = installs.filter(({ reinstall }) => !reinstall)
  return {
    rows: inOrder(rows, by, asked),
    missing_rates: sortedSet([
      ...lacking(moneyOf(sources, fresh), sources.rates),
      ...lacking((costs ?? []).map(costMoney), sources.rates),
    ]),
    totals: figuresOf(() => true),
  }
}

const installItem = (one: DecidedInstall): Item => ({
  at_ms: one.installed_at_ms,
  valueOf: (dimension) => one[dimension] ?? '',
})
const clickItem = (one: ClickRow): Item => ({
  at_ms: one.clicked_at_ms,
  valueOf: (dimension) => (dimension === 'attribution_type' ? '' : (one[dimension] ?? '')),
})
/** A dimension that an upload lacks is none of the values of installs. */
const costItem = (one: CostUpload): Item => ({
  at_ms: Date.parse(one.day),
  valueOf: (dimension) => (of_costs.includes(dimension) && one[dimension as 'partner']) || '*',
})

/** Each click once, and none that a filter kept. */
const countedClicks = (clicks: readonly ClickRow[]): ClickRow[] =>
  [...new Map(clicks.map((one) => [one.click_id, one])).values()].filter(({ filtered }) => !filtered)

/** Of the uploads of a key the one with the greatest `as_of_ms`, among equals the last; a cost of 0 is none. */
function newestCosts(uploads: readonly CostUpload[]): CostUpload[] {
  const newest = new Map<string, CostUpload>()
  for (const one of uploads) {
    const key = JSON.stringify([one.day, ...of_costs.map((name) => one[name as 'partner'] ?? '')])
    const before = newest.get(key)
    if (before === undefined || one.as_of_ms >= before.as_of_ms) newest.set(key, one)
  }
  return [...newest.values()].filter(({ cost }) => cost !== 0)
}

const costMoney = (one: CostUpload) => ({
  ...{ currency: one.currency, event_ts_ms: Date.parse(one.day), micros: BigInt(Math.round(one.cost * 1e6)) },
})

const ageOf = (sources: PerformanceSources, event: SentEvent) =>
  correctedTime(event) - sources.installs.get(event.install_uuid)!.installed_at_ms

/** Money of installs from their install time on. */
function moneyOf(sources: PerformanceSources, installs: readonly { install_uuid: string }[]): Money[] {
  const ids = new Set(installs.map(({ install_uuid }) => install_uuid))
  return sources.money.filter((event) => ids.has(event.install_uuid) && ageOf(sources, event) >= 0)
}

interface Group {
  installs: readonly DecidedInstall[]
  clicks: readonly ClickRow[] | null
  costs: readonly CostUpload[] | null
}

function figures(sources: PerformanceSources, { days = [] }: Question, group: Group) {
  const { events, rates } = sources
  const fresh = group.installs.filter(({ reinstall }) => !reinstall)
  const money = moneyOf(sources, fresh)
  const purchases = money.filter((event) => !isRefund(event))
  const payments = purchases.filter((event) => event.micros > 0n && hasRate(event, rates))
  const cost = group.costs === null || group.costs.length === 0 ? null : exactUsd(group.costs.map(costMoney), rates)
  const revenueUntil = (n: number) =>
    exactUsd(
      money.filter((event) => ageOf(sources, event) < (n + 1) * day_ms),
      rates,
    )
  const retained = (n: number) =>
    n === 0
      ? fresh.length
      : fresh.filter(({ install_uuid, installed_at_ms }) => {
          const since_ms = installed_at_ms + n * day_ms
          const window = { since_ms, until_ms: since_ms + day_ms }
          return events.some((event) => event.install_uuid === install_uuid && inside(window, correctedTime(event)))
        }).length
  const of_days = days.map((n) => ({
    [`d${n}_retained`]: retained(n),
    [`d${n}_rate`]: fresh.length === 0 ? 0 : Math.round((retained(n) / fresh.length) * 10_000) / 10_000,
    [`d${n}_revenue_usd`]: usdOf(revenueUntil(n)),
    [`d${n}_roas`]: ratio(revenueUntil(n), cost),
  }))
  return {
    clicks: group.clicks?.length ?? null,
    installs: fresh.length,
    reinstalls: group.installs.length - fresh.length,
    fraud_flagged: fresh.filter(({ flagged }) => flagged).length,
    purchases: purchases.length,
    payers: new Set(payments.map(({ install_uuid }) => install_uuid)).size,
    revenue_usd: usdOf(revenueUntil(Number.POSITIVE_INFINITY)),
    cost_usd: cost && usdOf(cost),
    cpi_usd: cost === null || fresh.length === 0 ? null : usdOf(cost, fresh.length),
    roas: ratio(revenueUntil(Number.POSITIVE_INFINITY), cost),
    ...(Object.assign({}, ...of_days) as Record<string, number | null>),
  }
}

/** Micros to USD with 4 places. */
const usdOf = ({ over, under }: Fraction, sharers = 1): number => rounded(over, under * BigInt(sharers) * 100n)

/** With 4 places; null where there is nothing to divide by. */
const ratio = (revenue: Fraction, cost: Fraction | null): number | null =>
  cost === null || cost.over === 0n ? null : rounded(revenue.over * cost.under * 10_000n, revenue.under * cost.over)

type Row = ExpectedReport['rows'][number]

/** By `sort`, null last; then by day and dimensions. Rows come in that order. */
function inOrder(rows: readonly Row[], by: readonly ReportDimension[], { sort }: Question): Row[] {
  const texts = ['day', ...by]
  const bytes = (a: unknown, b: unknown) => Buffer.compare(Buffer.from(String(a ?? '')), Buffer.from(String(b ?? '')))
  const tie = (a: Row, b: Row) => texts.reduce((order, field) => order || bytes(a[field], b[field]), 0)
  const field = sort?.replace('-', '')
  const sign = sort?.startsWith('-') ? -1 : 1
  const first = (a: Row, b: Row) => {
    if (field === undefined) return 0
    const [x, y] = [a[field] ?? null, b[field] ?? null]
    if (x === null || y === null) return Number(x === null) - Number(y === null)
    return sign * (typeof x === 'number' ? x - (y as number) : bytes(x, y))
  }
  return rows.toSorted((a, b) => first(a, b) || tie(a, b))
}
