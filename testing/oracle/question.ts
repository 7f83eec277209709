import { day_ms } from '@tributary/contracts/limits'
import type { ReportDimension, ReportGroup } from '@tributary/contracts/report-parameters'
import { dayOf } from './history.ts'

/** What a report is asked, without its page. */
export interface Question extends Partial<Record<ReportDimension, readonly string[] | undefined>> {
  since_ms: number
  until_ms: number
  /** `day` by default. */
  group?: ReportGroup
  /** Days of cohorts, ltv and performance. */
  days?: readonly number[]
  /** Dimensions of `performance`; partner and campaign by default. */
  by?: readonly ReportDimension[]
  sort?: string
  event_name?: readonly string[]
}

export interface ExpectedReport {
  rows: Record<string, string | number | null>[]
  missing_rates: string[]
  /** Only for `performance`. */
  totals?: Record<string, number | null>
}

/** True inside a window; its end is not in it. */
export const inside = ({ since_ms, until_ms }: { since_ms: number; until_ms: number }, ms: number): boolean =>
  ms >= since_ms && ms < until_ms

/** True if a filter is absent or names the value. */
export const passes = (filter: readonly string[] | undefined, value: string): boolean =>
  filter === undefined || filter.includes(value)

/** True if what an install names passes; a label that is absent, or of an install without a verdict, is empty. */
export const isLabelled = (
  question: Question,
  one: { campaign?: string; country?: string; link_id?: string } = {},
): boolean =>
  passes(question.campaign, one.campaign ?? '') &&
  passes(question.country, one.country ?? '') &&
  passes(question.link_id, one.link_id ?? '')

/** The first day of the period of a time: the day itself, the Monday of its week, or the first of its month; empty for `none`. */
export function keyOfPeriod({ group = 'day' }: Question, ms: number): string {
  if (group === 'none') return ''
  const day = dayOf(ms)
  if (group === 'month') return `${day.slice(0, 7)}-01`
  const sinceMonday = (new Date(ms).getUTCDay() + 6) % 7
  return group === 'week' ? dayOf(ms - sinceMonday * day_ms) : day
}

/** Groups by the texts of `keyOf`, in the order of their UTF-8 bytes. */
export function grouped<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string[],
): [key: string[], items: Item[]][] {
  return [...Map.groupBy(items, (item) => JSON.stringify(keyOf(item)))]
    .map(([key, group]): [string[], Item[]] => [JSON.parse(key), group])
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a.join('\0')), Buffer.from(b.join('\0'))))
}

/** Each text once, in order. */
export const sortedSet = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted()
