import { type GrownDays, isCounted } from '@tributary/tables/settled/sql/grown'
import type { ReportSources } from '../report.ts'
import type { MoneyDay } from './find-money.ts'

type Statements = Pick<ReportSources, 'clickhouse'>

/** Parameters that name the days that have grown. The lists have the same length. */
export interface GrownMoney {
  grown_days: string[]
  /** The number of money events that the settled money of each day counts. */
  grown_events: number[]
  /** When the last of these events was received, Unix epoch ms. */
  grown_ms: number[]
  /** The number of changes that did more than add events when each day was settled. */
  grown_others: number[]
}

const nothingGrown: GrownMoney = { grown_days: [], grown_events: [], grown_ms: [], grown_others: [] }

/** The days of `GrownMoney`, as SQL. */
export const grownDays: GrownDays = {
  app_id: '{app_id:String}',
  days: '{grown_days:Array(Date)}',
  last_ms: '{grown_ms:Array(Int64)}',
}

/**
 * Reads money of days, of which some have grown since they were settled (docs/decisions/money.md#late-money-is-added-to-a-settled-day).
 * `read` gets these as settled, and adds the money events that came since. If one of them was settled again meanwhile, these events may
 * have counted twice: then `read` works all of them out live. `stored` are the days as `findMoneyDays` found them; only days that are read
 * as a whole may grow.
 */
export async function readGrown<Answer>(
  { sources, app_id, stored, isWhole = () => true }: GrownRequest,
  read: (days: readonly MoneyDay[], grown: GrownMoney) => Promise<Answer>,
): Promise<Answer> {
  const { days, grown } = await findGrown(sources, app_id, stored, isWhole)
  const answer = await read(days, grown)
  return (await areSame(sources, app_id, grown)) ? answer : read(stored, nothingGrown)
}

interface GrownRequest {
  sources: Statements
  app_id: string
  stored: readonly MoneyDay[]
  isWhole?: (day: string) => boolean
}

/**
 * Finds the days that have grown, and takes them for settled. A day with more events up to the last one that its settled money counts
 * than were noted is worked out live: an event was received earlier, and written later.
 */
async function findGrown(
  { clickhouse }: Statements,
  app_id: string,
  days: readonly MoneyDay[],
  isWhole: (day: string) => boolean,
): Promise<{ days: readonly MoneyDay[]; grown: GrownMoney }> {
  const mayGrow = ({ day, is_settled, only_added }: MoneyDay) => !is_settled && only_added === 1 && isWhole(day)
  const maybe = growingOf(days.filter(mayGrow))
  if (maybe.grown_days.length === 0) return { days, grown: nothingGrown }
  const counted = isCounted(grownDays)
  const grown = 'app_id = {app_id:String} AND day IN {grown_days:Array(Date)}'
  const found = await clickhouse.query<{ date: string; events: number; currencies: string[] }>(
    `SELECT toString(date) AS date, countIf(is_counted) AS events, groupUniqArrayIf(code, NOT is_counted) AS currencies
     FROM (
       SELECT day AS date, toString(currency) AS code, ${counted} AS is_counted FROM revenue_raw_v1 WHERE ${grown}
       UNION ALL
       SELECT day AS date, toString(currency) AS code, 0 AS is_counted FROM revenue_chosen_v1 WHERE ${grown}
     )
     GROUP BY date`,
    { app_id, ...maybe },
  )
  const now = new Map(found.map((one) => [one.date, one]))
  const hasGrown = (one: MoneyDay) => mayGrow(one) && now.get(one.day)?.events === one.events
  return {
    days: days.map((one): MoneyDay => {
      if (!hasGrown(one)) return one
      return { ...one, is_settled: 1, currencies: [...new Set([...one.currencies, ...now.get(one.day)!.currencies])] }
    }),
    grown: growingOf(days.filter(hasGrown)),
  }
}

const growingOf = (days: readonly MoneyDay[]): GrownMoney => ({
  grown_days: days.map(({ day }) => day),
  grown_events: days.map(({ events }) => events),
  grown_ms: days.map(({ last_received_ms }) => last_received_ms),
  grown_others: days.map(({ other_changes }) => other_changes),
})

/** Whether the settled money of these days still counts the same events, by the same verdicts. Call it after the statement that read it. */
async function areSame({ clickhouse }: Statements, app_id: string, grown: GrownMoney): Promise<boolean> {
  if (grown.grown_days.length === 0) return true
  const [row] = await clickhouse.query<{ same: number }>(
    `SELECT count() AS same FROM settled_money_v1 FINAL
     WHERE app_id = {app_id:String} AND day IN {grown_days:Array(Date)}
       AND last_received_ms = transform(day, {grown_days:Array(Date)}, {grown_ms:Array(Int64)}, toInt64(-1))
       AND events = transform(day, {grown_days:Array(Date)}, {grown_events:Array(UInt64)}, toUInt64(0))
       AND other_changes = transform(day, {grown_days:Array(Date)}, {grown_others:Array(UInt64)}, toUInt64(0))`,
    { app_id, ...grown },
  )
  return row?.same === grown.grown_days.length
}
