import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { Place } from '@tributary/contracts/attribution/found'
import { clickKeys } from '@tributary/domain/attribute/match-keys'
import { utcDay } from '@tributary/domain/utc-day'
import { type LogPartition, ofPartition } from './install-rows.ts'
import { checked, literals } from './literals.ts'

/** Texts and numbers of a click that a row holds as they are; '' and 0 stand for null. */
const texts = [
  ...(['campaign', 'ad_group', 'creative', 'ext_click_id', 'sub1', 'sub2', 'sub3', 'sub4', 'sub5'] as const),
  ...(['deep_link', 'filtered_reason', 'country', 'os', 'model'] as const),
] as const
const numbers = ['lookback_hours', 'os_major'] as const
const same = [
  ...(['app_id', 'click_id', 'clicked_at_ms', 'company_id', 'link_id', 'partner', 'ip', 'user_agent'] as const),
  'device_hashes',
] as const

/** The columns of an insert into `clicks_raw_v1`, in the order of a line. */
export const clickColumns = [
  ...same,
  ...texts,
  ...numbers,
  'day',
  'match_keys',
  'topic',
  'partition',
  'offset',
] as const

type Column = (typeof clickColumns)[number]
type Row = Record<Column, unknown>

/** A line of an insert into `clicks_raw_v1`. */
export function clickLine(click: Click, { topic, partition, offset }: Place): string {
  const row: Row = {
    ...click,
    ...Object.fromEntries(texts.map((name) => [name, click[name] ?? ''])),
    ...Object.fromEntries(numbers.map((name) => [name, click[name] ?? 0])),
    ...{ day: utcDay(click.clicked_at_ms), match_keys: clickKeys(click), topic, partition, offset },
  } as Row
  return JSON.stringify(clickColumns.map((name) => row[name]))
}

/** The click of a row. */
export function toClick(row: Record<string, unknown>): KeptClick {
  const { topic, partition, offset } = row as unknown as Place
  const kept = Object.fromEntries(same.map((name) => [name, row[name]]))
  const nullable = Object.fromEntries([...texts, ...numbers].map((name) => [name, row[name] || null]))
  return { v: 1, ...kept, ...nullable, place: { topic, partition, offset, index: 0 } } as KeptClick
}

export interface ClickLookup {
  app_id: string
  click_ids: readonly string[]
}

const columns = clickColumns.filter((name) => name !== 'match_keys' && name !== 'day').join(', ')

/** Clicks of an app by their ids; those that are not there are left out. */
export async function findClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, click_ids }: ClickLookup,
): Promise<KeptClick[]> {
  if (click_ids.length === 0) return []
  const rows = await clickhouse.query<Record<string, unknown>>(
    `SELECT ${columns} FROM clicks_raw_v1
     WHERE app_id = ${literals('app_id', [app_id])} AND click_id IN (${literals('click_id', click_ids)})
     ORDER BY click_id, topic, partition, offset LIMIT 1 BY click_id`,
  )
  return rows.map(toClick)
}

/** A row that a partition of a log wrote. */
export type ClickPlace = Pick<Click, 'app_id' | 'click_id' | 'clicked_at_ms'> & { offset: number }

/** Whether `clicks_raw_v1` has a click, of whatever log. It reads one granule, however large the table is. */
export async function hasClick(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, click_id }: Pick<Click, 'app_id' | 'click_id'>,
): Promise<boolean> {
  const found = await clickhouse.query(
    `SELECT 1 FROM clicks_raw_v1
     WHERE app_id = ${literals('app_id', [app_id])} AND click_id = ${literals('click_id', [click_id])} LIMIT 1`,
  )
  return found.length > 0
}

/** Digits of a click id that tell its time to a quarter of an hour: what was published out of order is between. */
const quarter_digits = 7

/**
 * Whether a partition of a log has clicks behind an offset, -1 for any. Of all clicks it reads those that are no older than
 * the last known one.
 */
export async function hasClicksBehind(
  clickhouse: Pick<Clickhouse, 'query'>,
  at: LogPartition,
  offset: number,
  last: ClickPlace | null,
): Promise<boolean> {
  const from = last === null ? '' : checked('click_id', last.click_id).slice(0, quarter_digits)
  const found = await clickhouse.query(
    `SELECT 1 FROM clicks_raw_v1
     WHERE click_id >= '${from}' AND ${ofPartition(at)} AND offset >= ${offset + 1} LIMIT 1`,
  )
  return found.length > 0
}
