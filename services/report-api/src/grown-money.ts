import { type GrownDays, isCounted } from '@tributary/settled/grown'
import type { MoneyDay } from './find-money.ts'
import type { ReportSources } from './report.ts'

type Statements = Pick<ReportSources, 'clickhouse'>

/**
 * Days whose money has grown since it was settled: the money events that came since are added to what is settled (docs/adr/0390).
 * Parameters of a statement; the lists have the same length.
 */
export interface GrownMoney {
  grown_days: string[]
  /** The money events that settled money counts, and when the last one was received, Unix epoch ms. */
  grown_events: number[]
  grown_ms: number[]
}

const nothingGrown: GrownMoney = { grown_days: [], grown_events: [], grown_ms: [] }

/** The days in `GrownMoney`, as SQL. */
export const grownDays: GrownDays = {
  app_id: '{app_id:String}',
  days: '{grown_days:Array(Date)}',
  last_ms: '{grown_ms:Array(Int64)}',
}

/**
 * Finds days that have grown, of those that are read as a whole, and takes them for settled. Where an event was received before the last one that settled money
 * counts, and is not counted, there are more events up to that time than were noted: such a day is worked out live.
 */
export async function findGrown(
  { clickhouse }: Statements,
  app_id: string,
  days: readonly MoneyDay[],
  isWhole: (day: string) => boolean = () => true,
): Promise<{ days: readonly MoneyDay[]; grown: GrownMoney }> {
  const mayGrow = ({ day, is_settled, only_added }: MoneyDay) => !is_settled && only_added === 1 && isWhole(day)
  const maybe = growingOf(days.filter(mayGrow))
  if (maybe.grown_days.length === 0) return { days, grown: nothingGrown }
  const counted = isCounted(grownDays)
  const found = await clickhouse.query<{ date: string; events: number; currencies: string[] }>(
    `SELECT toString(day) AS date, countIf(${counted}) AS events, groupUniqArrayIf(toString(currency), NOT ${counted}) AS currencies
     FROM revenue_raw_v1 WHERE app_id = {app_id:String} AND day IN {grown_days:Array(Date)} GROUP BY day`,
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
})

/**
 * Whether settled money of these days still counts the same events. To be called after the statement that read it: one of the
 * days may have been settled again before that, and then what came since was added twice.
 */
export async function areSame({ clickhouse }: Statements, app_id: string, grown: GrownMoney): Promise<boolean> {
  if (grown.grown_days.length === 0) return true
  const [row] = await clickhouse.query<{ same: number }>(
    `SELECT count() AS same FROM settled_money_v1 FINAL
     WHERE app_id = {app_id:String} AND day IN {grown_days:Array(Date)}
       AND last_received_ms = transform(day, {grown_days:Array(Date)}, {grown_ms:Array(Int64)}, toInt64(-1))
       AND events = transform(day, {grown_days:Array(Date)}, {grown_events:Array(UInt64)}, toUInt64(0))`,
    { app_id, ...grown },
  )
  return row?.same === grown.grown_days.length
}
