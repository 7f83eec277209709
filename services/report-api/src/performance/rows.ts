import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReportDimension } from '@tributary/contracts/report-parameters'
import type { ReportMeta, ReportRow } from '@tributary/contracts/reports'
import { factoredRatio, factoredUsd } from '@tributary/domain/money/money-usd'
import type { Asked } from './statements.ts'

/** The page of a request, and the fields of its rows. */
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

/** The sums of a row; money is BigInt, or text of one. */
type Counted = Figures<string | bigint>
/** A row needs all figures, the order of many groups one. */
type FigureOf = (one: Counted) => number | null

/**
 * The rows of a page, ordered as the request says; groups come by day and dimensions. There may be a hundred thousand: other requests
 * have their turns meanwhile.
 */
export async function pageOf(groups: readonly Group[], shown: Shown): Promise<Row[]> {
  const { sort, limit, offset } = shown
  const figures = figuresOf(shown)
  const page = (rows: readonly Group[]) =>
    mapInTurns(rows.slice(offset, offset + limit), (one) => rowOf(one, figures, shown))
  if (sort === undefined) return page(groups)
  const field = sort.replace(/^-/, '')
  const sign = sort === field ? 1 : -1
  const keyOf = keyOfField(field, figures)
  const keyed = await mapInTurns(groups, (group) => ({ group, key: keyOf(group) }))
  // The sort is stable: equals stay by day and dimensions.
  return page(keyed.sort((a, b) => nullLast(a.key, b.key) ?? sign * compare(a.key!, b.key!)).map(({ group }) => group))
}

type Key = number | Buffer | null

/** Texts are ordered by their UTF-8 bytes, as the engine orders them. */
function keyOfField(field: string, figures: Record<string, FigureOf>): (group: Group) => Key {
  return figures[field] ?? ((group) => Buffer.from(Reflect.get(group, field) as string))
}

const nullLast = (a: Key, b: Key): number | undefined =>
  a === null || b === null ? Number(a === null) - Number(b === null) : undefined
const compare = (a: number | Buffer, b: number | Buffer): number =>
  typeof a === 'number' ? a - (b as number) : Buffer.compare(a, b as Buffer)

const rowOf = (group: Group, figures: Record<string, FigureOf>, shown: Shown): Row => ({
  ...(shown.group !== 'none' && { day: group.day }),
  ...Object.fromEntries(shown.by.map((one) => [one, group[one]])),
  ...valuesOf(group, figures),
})

const valuesOf = (one: Counted, figures: Record<string, FigureOf>) =>
  Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, figure(one)])) as Totals

/** The figures of all groups together, in turns too. No install and no payer is in two of them. */
export async function totalsOf(groups: readonly Group[], shown: Shown): Promise<Totals> {
  const none = { clicks: 0, installs: 0, reinstalls: 0, fraud_flagged: 0, purchases: 0, payers: 0, costs: 0 }
  const lists = { retained: shown.days.map(() => 0), revenues: shown.days.map(() => 0n) }
  const sum = { ...none, revenue: 0n, cost: 0n, ...lists }
  await mapInTurns(groups, (group) => {
    sum.clicks += group.clicks
    sum.installs += group.installs
    sum.reinstalls += group.reinstalls
    sum.fraud_flagged += group.fraud_flagged
    sum.purchases += group.purchases
    sum.payers += group.payers
    sum.costs += group.costs
    sum.revenue += BigInt(group.revenue)
    sum.cost += BigInt(group.cost)
    for (const [n, came] of group.retained.entries()) lists.retained[n]! += came
    for (const [n, earned] of group.revenues.entries()) lists.revenues[n]! += BigInt(earned)
  })
  return valuesOf(sum, figuresOf(shown))
}

/** How long rows are made before others have a turn. */
const slice_ms = 10

async function mapInTurns<One, Made>(all: readonly One[], make: (one: One) => Made): Promise<Made[]> {
  const made: Made[] = []
  let until = performance.now() + slice_ms
  for (const one of all) {
    if (performance.now() > until) {
      await nextTurn()
      until = performance.now() + slice_ms
    }
    made.push(make(one))
  }
  return made
}

/** The functions that work out each figure of a row, in the order of its fields. */
function figuresOf({ days, hasClicks, hasCosts }: Shown): Record<string, FigureOf> {
  const costOf = (one: Counted) => (hasCosts && one.costs > 0 ? BigInt(one.cost) : null)
  const perCost = (money: bigint, cost: bigint | null) =>
    cost === null || cost === 0n ? null : factoredRatio(money, cost)
  const usd = (cost: bigint | null, sharers = 1) => (cost === null || sharers === 0 ? null : factoredUsd(cost, sharers))
  const of_days = days.flatMap((n, at): [string, FigureOf][] => {
    const came = ({ installs, retained }: Counted) => (n === 0 ? installs : (retained[at] ?? 0))
    const earned = ({ revenues }: Counted) => BigInt(revenues[at] ?? 0)
    return [
      [`d${n}_retained`, came],
      // An install that goes while the engine reads must not make a rate above 1.
      [
        `d${n}_rate`,
        (one) => (one.installs === 0 ? 0 : Math.min(1, Math.round((came(one) * 10_000) / one.installs) / 10_000)),
      ],
      [`d${n}_revenue_usd`, (one) => factoredUsd(earned(one))],
      [`d${n}_roas`, (one) => perCost(earned(one), costOf(one))],
    ]
  })
  return {
    clicks: ({ clicks }) => (hasClicks ? clicks : null),
    installs: ({ installs }) => installs,
    reinstalls: ({ reinstalls }) => reinstalls,
    fraud_flagged: ({ fraud_flagged }) => fraud_flagged,
    purchases: ({ purchases }) => purchases,
    payers: ({ payers }) => payers,
    revenue_usd: ({ revenue }) => factoredUsd(BigInt(revenue)),
    cost_usd: (one) => usd(costOf(one)),
    cpi_usd: (one) => usd(costOf(one), one.installs),
    roas: (one) => perCost(BigInt(one.revenue), costOf(one)),
    ...Object.fromEntries(of_days),
  }
}
