import type { ReportDimension } from '@tributary/contracts/report-parameters'
import type { ReportMeta, ReportRow } from '@tributary/contracts/reports'
import { factoredRatio, factoredUsd } from '@tributary/domain/money/money-usd'
import type { Asked } from './statements.ts'

/** What rows are shown of the groups. */
interface Shown extends Pick<Asked, 'by' | 'group' | 'days' | 'hasClicks' | 'hasCosts'> {
  sort: string | undefined
  limit: number
  offset: number
}

/** A row as the engine gives it. Money is sums of micros times factors, as text. */
export interface Group extends Figures<string>, Partial<Record<ReportDimension, string>> {
  day: string
}

interface Figures<Money> {
  clicks: number
  installs: number
  reinstalls: number
  fraud_flagged: number
  purchases: number
  payers: number
  revenue: Money
  /** Costs that were uploaded. */
  costs: number
  cost: Money
  /** By the days of the request; empty: none came back, or nothing was earned. */
  retained: readonly number[]
  revenues: readonly Money[]
}

type Row = ReportRow<'performance'>
type Totals = NonNullable<ReportMeta['totals']>

/** The rows of a page, ordered as the request says; groups come by day and dimensions. */
export function pageOf(groups: readonly Group[], shown: Shown): Row[] {
  const { sort, limit, offset } = shown
  const page = (rows: readonly Group[]) => rows.slice(offset, offset + limit).map((one) => rowOf(one, shown))
  if (sort === undefined) return page(groups)
  const field = sort.replace(/^-/, '')
  const sign = sort === field ? 1 : -1
  const keyed = groups.map((group) => ({ group, key: keyOf(rowOf(group, shown), field) }))
  // The sort is stable: equals stay by day and dimensions.
  return page(keyed.sort((a, b) => nullLast(a.key, b.key) ?? sign * compare(a.key!, b.key!)).map(({ group }) => group))
}

type Key = number | Buffer | null

/** Texts are ordered by their UTF-8 bytes, as the engine orders them. */
function keyOf(row: Row, field: string): Key {
  const value = Reflect.get(row, field) as string | number | null
  return typeof value === 'string' ? Buffer.from(value) : value
}

const nullLast = (a: Key, b: Key): number | undefined =>
  a === null || b === null ? Number(a === null) - Number(b === null) : undefined
const compare = (a: number | Buffer, b: number | Buffer): number =>
  typeof a === 'number' ? a - (b as number) : Buffer.compare(a, b as Buffer)

function rowOf(group: Group, shown: Shown): Row {
  const keys = shown.by.map((one) => [one, group[one]])
  const { revenue, cost, revenues } = group
  const money = { revenue: BigInt(revenue), cost: BigInt(cost), revenues: revenues.map(BigInt) }
  return {
    ...(shown.group !== 'none' && { day: group.day }),
    ...Object.fromEntries(keys),
    ...figuresOf({ ...group, ...money }, shown),
  }
}

/** The figures of all groups together. No install and no payer is in two of them. */
export function totalsOf(groups: readonly Group[], shown: Shown): Totals {
  const count = (of: (group: Group) => number) => groups.reduce((sum, group) => sum + of(group), 0)
  const money = (of: (group: Group) => string | undefined) =>
    groups.reduce((sum, group) => sum + BigInt(of(group) ?? 0), 0n)
  return figuresOf(
    {
      clicks: count(({ clicks }) => clicks),
      installs: count(({ installs }) => installs),
      reinstalls: count(({ reinstalls }) => reinstalls),
      fraud_flagged: count(({ fraud_flagged }) => fraud_flagged),
      purchases: count(({ purchases }) => purchases),
      payers: count(({ payers }) => payers),
      revenue: money(({ revenue }) => revenue),
      costs: count(({ costs }) => costs),
      cost: money(({ cost }) => cost),
      retained: shown.days.map((_, n) => count(({ retained }) => retained[n] ?? 0)),
      revenues: shown.days.map((_, n) => money(({ revenues }) => revenues[n])),
    },
    shown,
  )
}

function figuresOf(one: Figures<bigint>, { days, hasClicks, hasCosts }: Shown): Totals {
  const { installs, reinstalls, fraud_flagged, purchases, payers, revenue } = one
  const cost = hasCosts && one.costs > 0 ? one.cost : null
  const roas = (money: bigint) => (cost === null || cost === 0n ? null : factoredRatio(money, cost))
  const of_days = days.map((n, at): Record<`d${number}_${string}`, number | null> => {
    const came = n === 0 ? installs : (one.retained[at] ?? 0)
    const earned = one.revenues[at] ?? 0n
    return {
      [`d${n}_retained`]: came,
      // An install that goes while the engine reads must not make a rate above 1.
      [`d${n}_rate`]: installs === 0 ? 0 : Math.min(1, Math.round((came * 10_000) / installs) / 10_000),
      [`d${n}_revenue_usd`]: factoredUsd(earned),
      [`d${n}_roas`]: roas(earned),
    }
  })
  return {
    clicks: hasClicks ? one.clicks : null,
    ...{ installs, reinstalls, fraud_flagged, purchases, payers },
    revenue_usd: factoredUsd(revenue),
    cost_usd: cost === null ? null : factoredUsd(cost),
    cpi_usd: cost === null || installs === 0 ? null : factoredUsd(cost, installs),
    roas: roas(revenue),
    ...Object.assign({}, ...of_days),
  }
}
