import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Place } from '@tributary/contracts/attribution/found'
import { utcDay } from '@tributary/domain/utc-day'

/** The columns of an insert into `installs_v1`, in the order of a line. */
export const installColumns = [
  ...(['app_id', 'install_uuid', 'day', 'installed_at_ms', 'received_at_ms', 'decided_at_ms', 'pending'] as const),
  ...(['partner', 'attribution_type', 'campaign', 'link_id', 'click_id', 'clicked_at_ms', 'reinstall'] as const),
  ...(['fraud_flags', 'rule_version', 'decision', 'event_topic', 'event_partition', 'event_offset'] as const),
  ...(['event_index', 'sign', 'topic', 'partition', 'offset', 'country', 'ad_group', 'creative'] as const),
  ...(['sub1', 'sub2', 'sub3', 'sub4', 'sub5'] as const),
] as const

/** The same with the time of storing, which comes last. */
export const storedInstallColumns = [...installColumns, 'stored_at_ms', 'stored_index'] as const

/** A row of `installs_v1`: a decision begins to count (sign 1), or the one before is cancelled (sign -1). */
export interface InstallRow {
  decision: Decision
  sign: 1 | -1
  /** Position of the record on `installs.attributed.v1` that begins or cancels it. */
  place: Omit<Place, 'index'>
}

/** A line of an insert into `installs_v1`. A cancelling row has the columns of what it cancels, without the record. */
export function installLine({ decision, sign, place }: InstallRow): string {
  const { app_id, install_uuid, installed_at_ms, received_at_ms, decided_at_ms, rule_version, verdict } = decision
  const event = decision.place
  const click = decision.clicks.find(({ click_id }) => click_id === verdict?.click_id)
  const row: Record<(typeof installColumns)[number], unknown> = {
    ...{ app_id, install_uuid, installed_at_ms, received_at_ms, decided_at_ms, rule_version, sign },
    ...{ topic: place.topic, partition: place.partition, offset: place.offset },
    ...{ event_topic: event.topic, event_partition: event.partition },
    ...{ event_offset: event.offset, event_index: event.index },
    day: utcDay(installed_at_ms),
    pending: Number(decision.pending),
    partner: verdict?.partner ?? '',
    attribution_type: verdict?.attribution_type ?? '',
    campaign: verdict?.campaign ?? '',
    link_id: verdict?.link_id ?? '',
    click_id: verdict?.click_id ?? '',
    clicked_at_ms: decision.clicked_at_ms ?? 0,
    reinstall: Number(verdict?.reinstall ?? false),
    fraud_flags: verdict?.fraud_flags ?? [],
    decision: sign === 1 ? JSON.stringify(decision) : '',
    country: decision.country ?? '',
    ad_group: verdict?.ad_group ?? click?.ad_group ?? '',
    creative: verdict?.creative ?? click?.creative ?? '',
    sub1: verdict?.sub1 ?? '',
    sub2: verdict?.sub2 ?? '',
    sub3: verdict?.sub3 ?? '',
    sub4: verdict?.sub4 ?? '',
    sub5: verdict?.sub5 ?? '',
  }
  return JSON.stringify(installColumns.map((name) => row[name]))
}

/** A partition of `installs.attributed.v1`, by the identity of its log (`<topic>@<log>`). */
export interface LogPartition {
  source: string
  partition: number
}

/** SQL condition for the rows that a partition of a log has written. */
export const ofPartition = ({ source, partition }: LogPartition): string =>
  `topic = ${textLiteral(source)} AND partition = ${Number(partition)}`

/** A row that a partition of a log wrote. */
export type RowPlace = Pick<Decision, 'app_id' | 'install_uuid'> & { offset: number }

/** Whether `installs_v1` has a row. It reads one granule, however large the table is. */
export async function hasInstallRow(
  clickhouse: Pick<Clickhouse, 'query'>,
  at: LogPartition,
  { app_id, install_uuid, offset }: RowPlace,
): Promise<boolean> {
  const found = await clickhouse.query(
    `SELECT 1 FROM installs_v1
     WHERE app_id = ${textLiteral(app_id)} AND install_uuid = ${textLiteral(install_uuid)}
       AND ${ofPartition(at)} AND offset = ${Number(offset)} LIMIT 1`,
  )
  return found.length > 0
}

/**
 * Whether a partition of a log has rows behind an offset, -1 for any. It reads three columns of the table, for a partition
 * that is taken over.
 */
export async function hasInstallRowsBehind(
  clickhouse: Pick<Clickhouse, 'query'>,
  at: LogPartition,
  offset: number,
): Promise<boolean> {
  const found = await clickhouse.query(
    `SELECT 1 FROM installs_v1 WHERE ${ofPartition(at)} AND offset >= ${offset + 1} LIMIT 1`,
  )
  return found.length > 0
}
