import { isDeepStrictEqual } from 'node:util'
import { identityOf } from '@tributary/audited/missing-events'
import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import {
  compareDays,
  compareReceived,
  type DayDifference,
  findDoubled,
  findErasures,
  findRowlessKeys,
} from '@tributary/tables/repair/compare-days'
import { compareSettled, type SettledDifference } from '@tributary/tables/repair/compare-settled'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { type Difference, tallied } from './findings.ts'
import type { LookDeps, StoreDeps } from './look-deps.ts'

/** How often tables of sums are looked at while they differ: an insert may be between two tables in some of the looks. */
const looks = 10
const between_looks_ms = 500
/** Keys without a row, and events with several rows, that are named; more are as bad. */
const rowless_max = 1000
const doubled_max = 1000

/** First UTC day of an app whose raw events retention has not deleted; undefined without any that it has. */
export const findExpired = async (clickhouse: StoreDeps['clickhouse'], app_id: string): Promise<string | undefined> =>
  (await readRawExpired(clickhouse)).get(app_id)

/** UTC days of events of an app, those of them whose settled figures are compared too, and days of receipt. */
interface DaysOfTables {
  app: Pick<AppFacts, 'clicks_deleted_before_ms'> & { app_id: string }
  days: readonly string[]
  settled_days: readonly string[]
  received_days: readonly string[]
}

interface LookedAtTables {
  differences: Difference[]
  /** Keys without a row, for a look at requests to find the hours of their events. */
  rowless: Map<string, string>
  /** The UTC days on which rows are missing. */
  rowless_days: string[]
}

/**
 * Compares the tables that events fill with `events_raw_v1`, and settled figures with what they are worked out from. Where several tables
 * count more than the raw rows, it is these that are missing.
 */
export async function lookAtTables(
  deps: LookDeps,
  { app, days, settled_days, received_days }: DaysOfTables,
): Promise<LookedAtTables> {
  const { clickhouse, pause, sleep, now } = deps
  const { app_id, clicks_deleted_before_ms } = app
  const clicks_from = utcDay(Math.max(clicks_deleted_before_ms, now() - limits.click_kept_ms + 2 * day_ms))
  const expired = await findExpired(clickhouse, app_id)
  const erasures = await findErasures(clickhouse, app_id)
  const kept = days.filter((day) => !erasures.get(day)?.is_open && (expired === undefined || day >= expired))
  const looked: LookedAtTables = { differences: [], rowless: new Map(), rowless_days: [] }
  /** Whether a batch of an erasure began or ended since. It takes rows from one table after the other, of a day or of any. */
  const isErased = async (day?: string) => {
    const since = await findErasures(clickhouse, app_id)
    if (day === undefined) return !isDeepStrictEqual(since, erasures)
    return since.get(day)?.mark !== erasures.get(day)?.mark
  }
  for (const day of kept) {
    await pause()
    const compare_settled = settled_days.includes(day)
    const found = await lookAtDay(deps, { app_id, day, clicks_from, compare_settled })
    const isFound = found.rowless_days.length + found.differences.length > 0
    if (!isFound || (await isErased(day))) continue
    looked.differences.push(...found.differences)
    looked.rowless_days.push(...found.rowless_days)
    for (const [name, place] of found.rowless) looked.rowless.set(name, place)
  }
  // Events that were received on a day may be of days that have expired.
  const isErasing = [...erasures.values()].some(({ is_open }) => is_open)
  if (expired === undefined && !isErasing && looked.rowless_days.length === 0) {
    const received = await steady(sleep, () => compareReceived(clickhouse, { app_id, days: received_days }))
    if (received.length > 0 && !(await isErased()))
      looked.differences.push(...received.map((one) => differenceOf(app_id, one)))
  }
  return looked
}

interface DayOfTables {
  app_id: string
  day: string
  clicks_from: string
  compare_settled: boolean
}

async function lookAtDay(
  deps: LookDeps,
  { app_id, day, clicks_from, compare_settled }: DayOfTables,
): Promise<LookedAtTables> {
  const { clickhouse, sleep } = deps
  const at = { app_id, days: [day] }
  const doubled = await findDoubledRows(deps, at)
  const different = await steady(sleep, (only) => compareDays(clickhouse, at, only))
  if (areRowsMissing(different)) {
    const keys = await findRowlessKeys(clickhouse, at, rowless_max)
    const rowless = new Map(keys.map((key): [string, string] => [identityOf(key), key.place]))
    return { differences: doubled, rowless, rowless_days: [day] }
  }
  const differences = [...doubled, ...different.map((one) => differenceOf(app_id, one))]
  // Settled figures are worked out from these tables.
  if (different.length === 0 && compare_settled) {
    const settled = await compareSettled(clickhouse, { ...at, clicks_from })
    differences.push(...settled.map((one) => settledDifferenceOf(app_id, one)))
  }
  return { differences, rowless: new Map(), rowless_days: [] }
}

function areRowsMissing(different: readonly DayDifference[]): boolean {
  const surplus = different.filter(({ from, counted, expected }) => from === 'events_raw_v1' && counted > expected)
  return new Set(surplus.map(({ table }) => table)).size > 1
}

async function findDoubledRows(
  { clickhouse, suspects }: LookDeps,
  at: { app_id: string; days: readonly string[] },
): Promise<Difference[]> {
  const doubled = tallied(at.app_id, 'events_raw_v1', suspects)
  for (const { at_ms, rows, event_id, places } of await findDoubled(clickhouse, at, doubled_max)) {
    doubled.expect(at_ms)
    const example = `event ${event_id} has ${rows} rows: ${places.join(', ')}`
    doubled.exceed(at_ms, { example, name: `${event_id} ${places[0]}`, count: rows - 1 })
  }
  return doubled.differences()
}

/**
 * Looks several times, and gives back the differences that all looks find. An insert reaches a table before those that views make of it.
 * So an insert under way never makes a surplus: the least surplus of all looks counts, also while other events of today keep coming. It may
 * make a lack at each look, which may hide a surplus: a lack counts only while all its numbers stay the same, and a look that finds one says
 * nothing about a surplus. Two looks have to find that, since of replicas one may be behind. Later looks compare the tables that still differ.
 */
async function steady(
  sleep: StoreDeps['sleep'],
  look: (only?: ReadonlySet<string>) => Promise<DayDifference[]>,
): Promise<DayDifference[]> {
  let found = (await look()).map((one) => ({ one, times: 1 }))
  const foundTwice = () => found.filter(({ one, times }) => isLack(one) || times > 1).map(({ one }) => one)
  for (let again = 1; again < looks && found.length > 0; again += 1) {
    // The sums do not tell which rows are missing.
    if (areRowsMissing(foundTwice())) break
    await sleep(between_looks_ms)
    const looked = await look(new Set(found.map(({ one }) => one.table)))
    const now = new Map(looked.map((one) => [faultOf(one), one]))
    found = found.flatMap((before) => {
      const { one, times } = before
      const after = now.get(faultOf(one))
      if (isLack(one)) return isDeepStrictEqual(one, after) ? [before] : []
      if (after === undefined) return now.has(faultOf(one, true)) ? [before] : []
      return [{ one: surplusOf(one) < surplusOf(after) ? one : after, times: times + 1 }]
    })
  }
  return foundTwice()
}

const surplusOf = ({ counted, expected }: DayDifference) => counted - expected

const isLack = (one: DayDifference) => surplusOf(one) < 0

/** Names a fault in each look. A sum of a day may have two: some groups have too much, others too little. */
const faultOf = (one: DayDifference, is_lack = isLack(one)) => `${one.table} ${one.sum} ${one.day} ${is_lack}`

const differenceOf = (app_id: string, { table, from, sum, day, counted, expected }: DayDifference): Difference => ({
  ...{ app_id, hour_ms: Date.parse(day), store: table, expected, found: counted },
  examples: [`day ${day}, ${sum}: ${from} has the expected number`],
})

const settledDifferenceOf = (app_id: string, { table, list, day, expected, found }: SettledDifference): Difference => ({
  ...{ app_id, hour_ms: Date.parse(day), store: table, expected, found },
  examples: [`day ${day}, ${list}: other rows than its data gives`],
})
