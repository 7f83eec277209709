import { literals } from '@tributary/attribution/literals'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { readRawExpired } from '@tributary/clickhouse/raw-expired'
import { eventDay } from '@tributary/contracts/report-tables'
import type { ErasedInstall } from './batch.ts'
import type { ActiveDay, EventToErase } from './find-rows.ts'
import { firstMarkDay, ofInstallKeys, ofInstalls, upToMark, uuidOfKey } from './sql.ts'

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

export interface ExpiredRows {
  money: MoneyRow[]
  activity: ActiveDay[]
}

/**
 * The rows that tables by install hold of days whose raw events retention has deleted, at most `rows_max` of each. Sums of these days
 * stay: nothing tells what they counted (docs/privacy.md#erasure).
 */
export async function findExpired(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly ErasedInstall[],
  rows_max: number,
): Promise<ExpiredRows> {
  const before = (await readRawExpired(clickhouse)).get(app_id)
  if (before === undefined || rows_max <= 0) return { money: [], activity: [] }
  // A run may wait so long that days behind its marks expire, which another life has.
  const [end = before] = [before, firstMarkDay(installs)].toSorted()
  const isExpired = (day = 't.day') => `${day} < toDate(${literals('day', [end])})`
  const money = await clickhouse.query<MoneyRow>(
    `SELECT install_uuid, toString(t.install_key) AS install_key, toString(t.day) AS day, toString(t.event_key) AS event_key,
       1 AS has_money, toString(t.transaction_key) AS transaction_key, claim_rank, received_at_ms, topic, partition, offset
     FROM revenue_raw_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${isExpired()} AND ${upToMark(installs)}
     LIMIT ${rows_max}`,
  )
  const active = await clickhouse.query<{ install: string; key: string; date: string; active: string }>(
    `SELECT install, toString(hash) AS key, toString(on) AS date, toString(corrected) AS active FROM (
       SELECT ${uuidOfKey('t.install_key', installs)} AS install, t.install_key AS hash, t.${eventDay} AS on, t.day AS corrected
       FROM activity_by_day_v1 AS t WHERE ${ofInstallKeys(app_id, installs)} AND ${isExpired(`t.${eventDay}`)}
       UNION DISTINCT
       SELECT install_uuid AS install, sipHash64(install_uuid) AS hash, t.day AS on, t.day AS corrected
       FROM activity_per_day_v1 AS t WHERE ${ofInstalls(app_id, installs)} AND ${isExpired()})
     LIMIT ${rows_max}`,
  )
  return {
    money,
    activity: active.map(({ install, key, date, active: active_day }) => ({
      ...{ install_uuid: install, install_key: key, day: date, active_day },
    })),
  }
}
