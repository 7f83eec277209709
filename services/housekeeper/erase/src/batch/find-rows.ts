import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Fact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import { correctedDay, eventDay } from '@tributary/contracts/report-tables'
import { claimRanks } from '@tributary/contracts/rows'
import { erasedRowKey, hasMoney } from '@tributary/contracts/tables'
import type { ErasedClick, ErasedInstall } from './batch.ts'
import {
  coveredEvents,
  coveredFacts,
  coveredVerdicts,
  firstMarkDay,
  markSql,
  ofApp,
  ofInstallKeys,
  ofInstalls,
  uuidOfKey,
} from './sql.ts'

type Query = Pick<Clickhouse, 'query'>

interface Position {
  topic: string
  partition: number
  offset: number
}

/** An event to erase. 64-bit numbers are text; `event_name_key` is a hash that may stand in a delete. */
export interface EventToErase extends Position {
  install_uuid: string
  install_key: string
  day: string
  /** Day of its corrected time. */
  active_day: string
  event_name: string
  event_name_key: string
  event_key: string
  key_day: string
  currency: string
  revenue_micros: string
  has_money: 0 | 1
  transaction_key: string
  claim_rank: number
  received_at_ms: number
  received_day: string
  /** Names it among all events (`erasedRowKey`). */
  row_key: string
}

/** A day on which an install had events, by the time of these and corrected. */
export type ActiveDay = Pick<EventToErase, 'install_uuid' | 'install_key' | 'day' | 'active_day'>

/** Rows of a verdict to erase. */
export interface VerdictRow extends Position {
  install_uuid: string
  install_key: string
  day: string
  received_at_ms: number
  pending: 0 | 1
  has_click: 0 | 1
  click_key: string
  row_key: string
}

/** A fact to erase. */
export interface FactRow extends Position {
  install_uuid: string
  day: string
  event_index: number
  match_keys: string[]
  fact: Fact
}

/** A click to erase, and the install that it goes with. */
export interface ClickRow extends Position {
  click_id: string
  click_key: string
  install_uuid: string
  day: string
  clicked_at_ms: number
  match_keys: string[]
}

/** A try to tell a partner of an install. */
export interface DeliveryRow {
  install_uuid: string
  day: string
  delivery_key: string
  try: number
  erased: 0
}

const rows_max = limits.erasure_rows_max
/** Facts of one batch; each has several rows in the table of keys. */
const facts_max = 80

/** Some events of the installs that their marks cover; fewer than `erasure_rows_max` are all. */
export async function findEvents(clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) {
  const active = await findActiveDays(clickhouse, app_id, installs)
  if (active.length === 0) return []
  return clickhouse.query<EventToErase>(
    `SELECT install_uuid, toString(sipHash64(install_uuid)) AS install_key, toString(t.day) AS day,
       toString(${correctedDay}) AS active_day, event_name, toString(sipHash64(event_name)) AS event_name_key, toString(t.event_key) AS event_key, toString(t.key_day) AS key_day,
       currency, if(has_money, toString(assumeNotNull(t.revenue_micros)), '0') AS revenue_micros,
       ${hasMoney.replaceAll('revenue_micros', 't.revenue_micros')} AS has_money, toString(t.transaction_key) AS transaction_key,
       if(source = 'sdk', ${claimRanks.sdk}, ${claimRanks.backend}) AS claim_rank, received_at_ms,
       toString(toDate(fromUnixTimestamp64Milli(received_at_ms, 'UTC'))) AS received_day,
       toString(${erasedRowKey('t.event_key')}) AS row_key, topic, partition, offset
     FROM events_raw_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${onDays(active)} AND ${coveredEvents(installs)}
     LIMIT ${rows_max}`,
  )
}

/** A day on which an install had events. */
type InstallDay = Pick<EventToErase, 'install_uuid' | 'day'>

/** Pairs of install and day in a statement; more would make it too long. */
const active_days_max = 10_000

/** SQL condition for days, and for the days of each install: all installs on all of these days may be half of a table. */
export function onDays(active: readonly InstallDay[]): string {
  const days = `t.day IN (${textLiterals(active.map(({ day }) => day))})`
  if (active.length > active_days_max) return days
  const each = active.map((one) => `(${textLiteral(one.day)}, ${textLiteral(one.install_uuid)})`)
  return `${days} AND (t.day, install_uuid) IN (${each.join(', ')})`
}

/** Days on which each of the installs has events. */
export const findActiveDays = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) =>
  clickhouse.query<InstallDay>(
    `SELECT DISTINCT ${uuidOfKey('t.install_key', installs)} AS install_uuid, toString(t.${eventDay}) AS day
     FROM activity_by_day_v1 AS t WHERE ${ofInstallKeys(app_id, installs)}`,
  )

/**
 * Some verdicts of the installs that their marks cover; fewer than `erasure_rows_max` are all. The newest come first: what is left
 * for the next batch is found by the verdict that it cancels.
 */
export const findVerdicts = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) =>
  clickhouse.query<VerdictRow>(
    `SELECT install_uuid, toString(t.install_key) AS install_key, toString(t.day) AS day, received_at_ms, pending,
       click_id != '' AS has_click, toString(sipHash64(click_id)) AS click_key,
       toString(sipHash64(topic, partition, offset)) AS row_key, topic, partition, offset
     FROM installs_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${coveredVerdicts(app_id, installs)}
     ORDER BY topic DESC, offset DESC
     LIMIT 1 BY topic, partition, offset, sign LIMIT ${rows_max}`,
  )

/**
 * The first facts of the installs that their marks cover, in the order of the table; `full`: there may be more. Consumers write none
 * once the tombstones are known, so they stay the same until they are deleted: their clicks are found before that.
 */
export async function findFactRows(clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) {
  const rows = await clickhouse.query<Omit<FactRow, 'fact'> & { fact: string }>(
    `SELECT install_uuid, toString(t.day) AS day, event_index, arrayMap(x -> toString(x), t.match_keys) AS match_keys, fact,
       topic, partition, offset
     FROM install_facts_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND ${coveredFacts(installs)}
     ORDER BY install_uuid, topic, partition, offset, event_index
     LIMIT 1 BY topic, partition, offset, event_index LIMIT ${facts_max}`,
  )
  return {
    facts: rows.map((row): FactRow => ({ ...row, fact: JSON.parse(row.fact) })),
    full: rows.length === facts_max,
  }
}

/** The rows of the clicks. */
export async function findClickRows(clickhouse: Query, app_id: string, clicks: readonly ErasedClick[]) {
  if (clicks.length === 0) return []
  const owners = new Map(clicks.map(({ click_id, install_uuid }) => [click_id, install_uuid]))
  const rows = await clickhouse.query<Omit<ClickRow, 'install_uuid'>>(
    `SELECT click_id, toString(sipHash64(click_id)) AS click_key, toString(t.day) AS day, clicked_at_ms,
       arrayMap(x -> toString(x), t.match_keys) AS match_keys, topic, partition, offset
     FROM clicks_raw_v1 AS t
     WHERE ${ofApp(app_id)} AND click_id IN (${textLiterals(owners.keys())})
     LIMIT 1 BY click_id, topic, partition, offset`,
  )
  return rows.map((row): ClickRow => ({ ...row, install_uuid: owners.get(row.click_id)! }))
}

/** Some user ids of the installs, but those that a new life alone has: fewer than `erasure_rows_max` are all. */
export const findIdentities = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) =>
  clickhouse.query<{ install_uuid: string; install_key: string; user_key: string }>(
    `SELECT DISTINCT install_uuid, toString(sipHash64(install_uuid)) AS install_key, toString(sipHash64(user_id)) AS user_key
     FROM identities_v1
     WHERE ${ofInstalls(app_id, installs)} AND (since_ms <= ${markSql(installs)} OR (install_uuid, user_id) NOT IN (
       SELECT install_uuid, user_id FROM events_raw_v1 AS t
       WHERE ${ofInstalls(app_id, installs)} AND day >= ${textLiteral(firstMarkDay(installs))} AND NOT ${coveredEvents(installs)}))
     LIMIT ${rows_max}`,
  )

/** Some tries to tell partners of the installs; fewer than `erasure_rows_max` are all. */
export const findDeliveries = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) =>
  clickhouse.query<DeliveryRow>(
    `SELECT DISTINCT install_uuid, toString(t.day) AS day, toString(t.delivery_key) AS delivery_key, try, erased
     FROM partner_deliveries_v1 AS t
     WHERE ${ofInstalls(app_id, installs)} AND erased = 0 AND dated_at_ms <= ${markSql(installs)}
     LIMIT ${rows_max}`,
  )
