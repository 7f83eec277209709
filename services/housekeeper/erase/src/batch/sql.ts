import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { utcDay } from '@tributary/domain/utc-day'
import { eventErasedFrom } from '@tributary/tables/events/erased-sql'
import type { ErasedInstall } from './batch.ts'

const uuidsOf = (installs: readonly ErasedInstall[]): string =>
  textLiterals(installs.map(({ install_uuid }) => install_uuid))

/** SQL condition for the rows of an app. */
export const ofApp = (app_id: string): string => `app_id = ${textLiteral(app_id)}`
/** SQL condition for the rows of installs of an app, in tables with their ids. */
export const ofInstalls = (app_id: string, installs: readonly ErasedInstall[]): string =>
  `${ofApp(app_id)} AND install_uuid IN (${uuidsOf(installs)})`
/** The same for tables with their hashes. */
export const ofInstallKeys = (app_id: string, installs: readonly ErasedInstall[]): string =>
  `${ofApp(app_id)} AND install_key IN (SELECT sipHash64(arrayJoin([${uuidsOf(installs)}])))`
/** SQL of the id of an install in tables with its hash. */
export const uuidOfKey = (column: string, installs: readonly ErasedInstall[]): string =>
  `transform(${column}, arrayMap(one -> sipHash64(one), [${uuidsOf(installs)}]), [${uuidsOf(installs)}], '')`
/** SQL condition for the rows of `events_raw_v1 AS t` that the mark of their install covers (docs/rules.md#erased-installs). */
export const coveredEvents = (installs: readonly ErasedInstall[]): string =>
  `${eventErasedFrom} <= ${markSql(installs)}`
/** The same for rows of `revenue_raw_v1`, which hold no clock of the client: its raw event would tell. */
export const coveredMoney = (installs: readonly ErasedInstall[]): string =>
  `least(received_at_ms, ts_ms) <= ${markSql(installs)}`
/** The same for rows of `install_facts_v1`. */
export const coveredFacts = (installs: readonly ErasedInstall[]): string =>
  `(received_at_ms <= ${markSql(installs)} OR ${isDatedUpTo('fact', installs)})`
/** The same for rows of `installs_v1` of an app. A row that cancels a verdict has no date: the verdict on the same event has it. */
export const coveredVerdicts = (app_id: string, installs: readonly ErasedInstall[]): string =>
  `(received_at_ms <= ${markSql(installs)} OR (install_uuid, ${eventPlace}) IN (
    SELECT install_uuid, ${eventPlace} FROM installs_v1
    WHERE ${ofInstalls(app_id, installs)} AND sign = 1 AND ${isDatedUpTo('decision', installs)}))`

const eventPlace = 'event_topic, event_partition, event_offset, event_index'
const isDatedUpTo = (json: 'fact' | 'decision', installs: readonly ErasedInstall[]): string =>
  `(JSONHas(${json}, 'dated_at_ms') AND JSONExtractInt(${json}, 'dated_at_ms') <= ${markSql(installs)})`

/** SQL of the mark of the install of a row. */
export const markSql = (installs: readonly ErasedInstall[]): string =>
  `transform(install_uuid, [${uuidsOf(installs)}], [${installs.map(({ mark_ms }) => `toInt64(${Number(mark_ms)})`)}], toInt64(0))`

/** The UTC day of the first mark. It may hold another life too. */
export const firstMarkDay = (installs: readonly ErasedInstall[]): string =>
  utcDay(Math.min(...installs.map(({ mark_ms }) => mark_ms)))
