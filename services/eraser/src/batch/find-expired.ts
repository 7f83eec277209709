import { literals } from '@tributary/attribution/literals'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { findEventKeys } from '@tributary/clickhouse/event-keys'
import { readRawExpired } from '@tributary/clickhouse/raw-expired'
import { eventDay } from '@tributary/contracts/report-tables'
import { eventKey, installKeyDay } from '@tributary/domain/event-key'
import { utcDay } from '@tributary/domain/utc-day'
import type { ErasedInstall } from './batch.ts'
import { type ActiveDay, type EventToErase, findActiveDays, onDays } from './find-rows.ts'
import { coveredMoney, firstMarkDay, ofInstallKeys, ofInstalls, uuidOfKey } from './sql.ts'

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
 * The rows that tables by install hold of days whose raw events retention has deleted, at most `rows_max` of each. Sums of these days
 * stay: nothing tells what they counted (docs/privacy.md#erasure).
 */
export async function findExpired(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  { rows_max, now_ms }: { rows_max: number; now_ms: number },
): Promise<ExpiredRows> {
  const before = (await readRawExpired(clickhouse)).get(app_id)
  if (before === undefined || rows_max <= 0) return { money: [], activity: [], keys: [] }
  // Retention whose clock was ahead marks days that have not come: they hold no other life.
  const [past = before] = [before, utcDay(now_ms)].toSorted()
  // A run may wait so long that days behind its marks expire, which another life has.
  const [end = before] = [before, firstMarkDay(installs)].toSorted()
  const money = await clickhouse.query<MoneyRow>(
    `SELECT install_uuid, toString(t.install_key) AS install_key, toString(t.day) AS day, toString(t.event_key) AS event_key,
       1 AS has_money, toString(t.transaction_key) AS transaction_key, claim_rank, received_at_ms, topic, partition, offset
     FROM revenue_raw_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND t.day < toDate(${literals('day', [before])}) AND ${coveredMoney(installs)}
     LIMIT ${rows_max}`,
  )
  const active = await clickhouse.query<{ install: string; key: string; date: string; active: string }>(
    `SELECT DISTINCT ${uuidOfKey('t.install_key', installs)} AS install, toString(t.install_key) AS key, toString(t.${eventDay}) AS date,
       toString(t.day) AS active
     FROM activity_by_day_v1 AS t WHERE ${ofInstallKeys(app_id, installs)} AND t.${eventDay} < toDate(${literals('day', [end])})
     LIMIT ${rows_max}`,
  )
  return {
    money,
    activity: active.map(({ install, key, date, active: active_day }) => ({
      ...{ install_uuid: install, install_key: key, day: date, active_day },
    })),
    keys: await findInstallKeys(clickhouse, app_id, installs, past),
  }
}

/**
 * Keys of install events whose rows have expired. They count on every day, and would hide the install of a new life; the id alone leads
 * to them. Installs whose mark has expired too are left out: a key without a row may be that of a new life.
 */
async function findInstallKeys(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  before: string,
): Promise<InstallKey[]> {
  const asked = installs
    .filter((one) => firstMarkDay([one]) >= before)
    .map(({ install_uuid }): [string, string] => {
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
           WHERE ${ofInstalls(app_id, installs)} AND ${onDays(active)} AND t.key_day = ${literals('day', [installKeyDay])}`,
        )
  const placeOf = (key: Omit<InstallKey, 'install_uuid' | 'key_day'>) =>
    `${key.event_key}/${key.topic}/${key.partition}/${key.offset}`
  const held = new Set(rows.map(placeOf))
  return stored
    .filter((key) => !held.has(placeOf(key)))
    .map(({ key_day, event_key, topic, partition, offset }) => ({
      ...{ install_uuid: owners.get(event_key)!, key_day, event_key, topic, partition, offset },
    }))
}
