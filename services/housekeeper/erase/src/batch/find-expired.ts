import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { limits } from '@tributary/contracts/limits'
import { correctedDay, eventDay } from '@tributary/contracts/report-tables'
import { eventKey, installKeyDay } from '@tributary/domain/event-key'
import { utcDay } from '@tributary/domain/utc-day'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import type { ErasedInstall } from './batch.ts'
import { type ActiveDay, type EventToErase, findActiveDays, onDays } from './find-rows.ts'
import { coveredMoney, ofInstallKeys, ofInstalls, uuidOfKey } from './sql.ts'

type Query = Pick<Clickhouse, 'query'>

/** A row of money, as far as it tells of its event. */
export type MoneyRow = Omit<
  EventToErase,
  | 'active_day'
  | 'event_name'
  | 'event_name_key'
  | 'key_day'
  | 'currency'
  | 'revenue_micros'
  | 'received_day'
  | 'row_key'
>

/** The key of an install event. */
type InstallKey = Pick<EventToErase, 'install_uuid' | 'key_day' | 'event_key' | 'topic' | 'partition' | 'offset'>

export interface ExpiredRows {
  money: MoneyRow[]
  activity: ActiveDay[]
  keys: InstallKey[]
}

/**
 * The rows that tables by install hold of events that retention has deleted, besides those of `events`, which are all that the marks
 * cover or `erasure_rows_max`. Both together are at most so many of each; fewer are all. They are found by the install alone: the
 * mark of retention does not tell what a run whose clock was ahead has deleted
 * (docs/decisions/erasure.md#an-erasure-needs-no-raw-events-to-find-rows). Sums of these days stay: nothing tells what they counted
 * (docs/privacy.md#erasure).
 */
export async function findExpired(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
  events: readonly EventToErase[],
): Promise<ExpiredRows> {
  const rows_max = limits.erasure_rows_max - events.length
  const mayHave = rows_max > 0 && (await readRawExpired(clickhouse)).has(app_id)
  if (!mayHave) return { money: [], activity: [], keys: [] }
  const active = await findActivity(clickhouse, app_id, installs)
  const money = await findMoney(clickhouse, app_id, installs, active)
  const held = new Set(events.map(placeOf))
  const heldDays = new Set(events.map(dayName))
  const others = active.filter((row) => !heldDays.has(dayName(row)))
  const activity = await withoutEvents(clickhouse, app_id, installs, others)
  return {
    money: money.filter((row) => !held.has(placeOf(row))).slice(0, rows_max),
    activity: activity.slice(0, rows_max),
    keys: await findInstallKeys(clickhouse, app_id, installs),
  }
}

/** Money that the marks cover, with an event or without one. The days of money of an install lead to its part of each day. */
async function findMoney(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
  active: readonly Activity[],
): Promise<MoneyRow[]> {
  const paid = await clickhouse.query<Pick<ActiveDay, 'install_uuid' | 'day'>>(
    `SELECT DISTINCT ${uuidOfKey('t.install_key', installs)} AS install_uuid, toString(t.day) AS day
     FROM money_days_v1 AS t WHERE ${ofInstallKeys(app_id, installs)}`,
  )
  const days = [...paid, ...active]
  if (days.length === 0) return []
  return clickhouse.query<MoneyRow>(
    `SELECT install_uuid, toString(t.install_key) AS install_key, toString(t.day) AS day, toString(t.event_key) AS event_key,
       1 AS has_money, toString(t.transaction_key) AS transaction_key, claim_rank, received_at_ms, topic, partition, offset
     FROM revenue_raw_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${onDays(days)} AND ${coveredMoney(installs)}
     LIMIT 1 BY t.day, t.event_key, topic, partition, offset LIMIT ${limits.erasure_rows_max}`,
  )
}

/** A row of activity, and its first and last corrected time. */
interface Activity extends ActiveDay {
  min_ts_ms: number
  max_ts_ms: number
}

/** All activity of the installs. */
const findActivity = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]): Promise<Activity[]> =>
  clickhouse.query<Activity>(
    `SELECT ${uuidOfKey('t.install_key', installs)} AS install_uuid, toString(t.install_key) AS install_key, toString(t.${eventDay}) AS day,
       toString(t.day) AS active_day, min(t.min_ts_ms) AS min_ts_ms, max(t.max_ts_ms) AS max_ts_ms
     FROM activity_by_day_v1 AS t WHERE ${ofInstallKeys(app_id, installs)}
     GROUP BY t.install_key, t.day, t.event_shift`,
  )

/**
 * The activity to take away, of rows that no covered event leads to. A day before that of the mark has no other life. On later ones the
 * raw events tell what a row has of a new life: retention leaves them until the erasure is over.
 */
async function withoutEvents(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
  rows: readonly Activity[],
): Promise<Activity[]> {
  const markDays = new Map(installs.map(({ install_uuid, mark_ms }) => [install_uuid, utcDay(mark_ms)]))
  const isEarlier = ({ install_uuid, day }: Activity) => day < markDays.get(install_uuid)!
  const later = rows.filter((row) => !isEarlier(row))
  // Read after the activity, which is written behind them: a new life that goes on meanwhile is not taken for an expired one.
  const raw = later.length === 0 ? [] : await findRawActivity(clickhouse, app_id, installs, later)
  const rawOf = new Map(raw.map((row) => [dayName(row), row]))
  const isExplained = (row: Activity) => {
    const left = rawOf.get(dayName(row))
    return left !== undefined && left.min_ts_ms <= row.min_ts_ms && left.max_ts_ms >= row.max_ts_ms
  }
  return rows.filter((row) => isEarlier(row) || !isExplained(row))
}

/** The same of the raw events of these days. */
const findRawActivity = (
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
  days: readonly ActiveDay[],
) =>
  clickhouse.query<Omit<Activity, 'install_key'>>(
    `SELECT install_uuid, toString(t.day) AS day, toString(${correctedDay}) AS active_day,
       min(ts_ms + correction_ms) AS min_ts_ms, max(ts_ms + correction_ms) AS max_ts_ms
     FROM events_raw_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${onDays(days)}
     GROUP BY install_uuid, t.day, active_day`,
  )

const dayName = ({ install_uuid, day, active_day }: Omit<ActiveDay, 'install_key'>): string =>
  `${day}/${active_day}/${install_uuid}`

type Placed = Pick<EventToErase, 'event_key' | 'topic' | 'partition' | 'offset'>
const placeOf = ({ event_key, topic, partition, offset }: Placed): string =>
  `${event_key}/${topic}/${partition}/${offset}`

/**
 * Keys of install events whose rows have expired. They count on every day, and would hide the install of a new life; the id alone leads
 * to them. The row of a new life is there as long as the erasure goes on.
 */
async function findInstallKeys(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
): Promise<InstallKey[]> {
  const asked = installs.map(({ install_uuid }): [string, string] => {
    const { event_key } = eventKey({ install_uuid, event_id: '', day: installKeyDay, install: true })
    return [event_key, install_uuid]
  })
  const owners = new Map(asked)
  const stored = await findEventKeys(
    clickhouse,
    [...owners.keys()].map((event_key) => ({ app_id, event_key, key_days: [installKeyDay] })),
  )
  if (stored.length === 0) return []
  // Rows are read after the keys: a key is written behind its row.
  const active = await findActiveDays(clickhouse, app_id, installs)
  const rows =
    active.length === 0
      ? []
      : await clickhouse.query<Omit<InstallKey, 'install_uuid' | 'key_day'>>(
          `SELECT toString(event_key) AS event_key, topic, partition, offset FROM events_raw_v1 AS t
           WHERE ${ofInstalls(app_id, installs)} AND ${onDays(active)} AND t.key_day = ${textLiteral(installKeyDay)}`,
        )
  const held = new Set(rows.map(placeOf))
  return stored
    .filter((key) => !held.has(placeOf(key)))
    .map(({ key_day, event_key, topic, partition, offset }) => ({
      ...{ install_uuid: owners.get(event_key)!, key_day, event_key, topic, partition, offset },
    }))
}
