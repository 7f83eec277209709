import { identityOf } from '@tributary/audited/missing-events'
import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import {
  compareDays,
  compareReceived,
  type DayDifference,
  findErasingDays,
  findRowlessKeys,
} from '@tributary/tables/repair/compare-days'
import { compareSettled } from '@tributary/tables/repair/compare-settled'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { Difference } from './findings.ts'
import type { Rowless } from './look-at-requests.ts'
import type { LookDeps } from './look-deps.ts'

/** Tables of sums that are compared again where they differ: an insert may be between two tables. */
const tries = 4
const between_tries_ms = 500
/** Keys without a row that are named. */
const rowless_max = 1000

/** First UTC day of an app whose raw events retention has not deleted; undefined without any that it has. */
export const findExpired = async (clickhouse: LookDeps['clickhouse'], app_id: string): Promise<string | undefined> =>
  (await readRawExpired(clickhouse)).get(app_id)

/** UTC days of events of an app, and those of them whose settled figures are compared too. */
interface DaysOfTables {
  app: Pick<AppFacts, 'clicks_deleted_before_ms'> & { app_id: string }
  days: readonly string[]
  settled_days: readonly string[]
}

interface LookedAtTables {
  differences: Difference[]
  /** Keys without a row, for a look at requests to find the hours of their events. */
  rowless: Rowless
  /** The UTC days on which rows are missing. */
  rowless_days: string[]
}

/**
 * Compares the tables that events fill with `events_raw_v1`, and settled figures with what they are worked out from. Where several tables
 * count more than the raw rows, it is these that are missing.
 */
export async function lookAtTables(
  { clickhouse, pause, sleep, now }: LookDeps,
  { app, days, settled_days }: DaysOfTables,
): Promise<LookedAtTables> {
  const { app_id, clicks_deleted_before_ms } = app
  const clicks_from = utcDay(Math.max(clicks_deleted_before_ms, now() - limits.click_kept_ms + 2 * day_ms))
  const expired = await findExpired(clickhouse, app_id)
  const erasing = await findErasingDays(clickhouse, app_id)
  const kept = days.filter((day) => !erasing.has(day) && (expired === undefined || day >= expired))
  const looked: LookedAtTables = { differences: [], rowless: new Map(), rowless_days: [] }
  for (const day of kept) {
    await pause()
    const at = { app_id, days: [day] }
    const different = await steady(sleep, () => compareDays(clickhouse, at))
    const surplus = different.filter(({ from, counted, expected }) => from === 'events_raw_v1' && counted > expected)
    if (new Set(surplus.map(({ table }) => table)).size > 1) {
      looked.rowless_days.push(day)
      for (const key of await findRowlessKeys(clickhouse, at, rowless_max))
        looked.rowless.set(identityOf(key), key.place)
      continue
    }
    looked.differences.push(...different.map((one) => differenceOf(app_id, one)))
    // They are worked out from these tables.
    if (different.length > 0 || !settled_days.includes(day)) continue
    for (const { table, day: on, expected, found, examples } of await compareSettled(clickhouse, {
      ...at,
      clicks_from,
    }))
      looked.differences.push({ ...{ app_id, hour_ms: Date.parse(on), store: table, expected, found, examples } })
  }
  if (expired === undefined && erasing.size === 0 && looked.rowless_days.length === 0 && days.length > 0) {
    const received = await steady(sleep, () => compareReceived(clickhouse, app_id))
    looked.differences.push(...received.map((one) => differenceOf(app_id, one)))
  }
  return looked
}

/** What several looks in a row find alike. */
async function steady<Found extends object>(sleep: LookDeps['sleep'], look: () => Promise<Found[]>): Promise<Found[]> {
  let found = await look()
  for (let again = 1; again < tries && found.length > 0; again += 1) {
    await sleep(between_tries_ms)
    const now = new Set((await look()).map((one) => JSON.stringify(one)))
    found = found.filter((one) => now.has(JSON.stringify(one)))
  }
  return found
}

const differenceOf = (app_id: string, { table, from, day, counted, expected }: DayDifference): Difference => ({
  ...{ app_id, hour_ms: Date.parse(day), store: table, expected, found: counted },
  examples: [`day ${day}: ${from} has the expected number`],
})
