import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { Click } from '@tributary/contracts/attribution/click'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { Place } from '@tributary/contracts/attribution/found'
import { clickKeys } from '@tributary/domain/attribute/match-keys'
import { utcDay } from '@tributary/domain/utc-day'
import { type LogPartition, ofPartition } from './install-rows.ts'

/** The columns of an insert into `clicks_raw_v1`, in the order of a line. */
export const clickColumns = [
  ...([
    'app_id',
    'click_id',
    'day',
    'clicked_at_ms',
    'partner',
    'campaign',
    'lookback_hours',
    'filtered_reason',
  ] as const),
  ...(['ip', 'user_agent', 'click', 'match_keys', 'topic', 'partition', 'offset'] as const),
] as const

/** The same with the time of storing, which comes last. */
export const storedClickColumns = [...clickColumns, 'stored_at_ms'] as const

/** A line of an insert into `clicks_raw_v1`. */
export function clickLine(click: Click, { topic, partition, offset }: Place): string {
  const { ip, user_agent, ...rest } = click
  const { app_id, click_id, clicked_at_ms, partner, campaign, lookback_hours, filtered_reason } = rest
  const row: Record<(typeof clickColumns)[number], unknown> = {
    ...{ app_id, click_id, day: utcDay(clicked_at_ms), clicked_at_ms, partner, campaign: campaign ?? '' },
    ...{ lookback_hours: lookback_hours ?? 0, filtered_reason: filtered_reason ?? '', ip, user_agent },
    ...{ click: JSON.stringify(rest), match_keys: clickKeys(click), topic, partition, offset },
  }
  return JSON.stringify(clickColumns.map((name) => row[name]))
}

type ClickRow = Record<'click' | 'ip' | 'user_agent', string> & { match_keys: string[] } & Omit<Place, 'index'>

/** The click of a row. Its keys stand for an address that retention has blanked. */
const toClick = ({ click, ip, user_agent, match_keys, ...place }: ClickRow): KeptClick => ({
  ...(JSON.parse(click) as Omit<Click, 'ip' | 'user_agent'>),
  ...{ ip, user_agent, place: { ...place, index: 0 } },
  ...(ip === '' && { match_keys }),
})

export interface ClickLookup {
  app_id: string
  click_ids: readonly string[]
}

/** Clicks of an app by their ids; those that are not there are left out. */
export async function findClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, click_ids }: ClickLookup,
): Promise<KeptClick[]> {
  if (click_ids.length === 0) return []
  const rows = await clickhouse.query<ClickRow>(
    `SELECT click, ip, user_agent, arrayMap(key -> toString(key), if(ip = '', match_keys, [])) AS match_keys,
       topic, partition, offset FROM clicks_raw_v1
     PREWHERE click_id IN (${textLiterals(click_ids)}) WHERE app_id = ${textLiteral(app_id)}
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
     WHERE app_id = ${textLiteral(app_id)} AND click_id = ${textLiteral(click_id)} LIMIT 1`,
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
  const from = last === null ? '' : last.click_id.slice(0, quarter_digits)
  const found = await clickhouse.query(
    `SELECT 1 FROM clicks_raw_v1
     WHERE click_id >= ${textLiteral(from)} AND ${ofPartition(at)} AND offset >= ${offset + 1} LIMIT 1`,
  )
  return found.length > 0
}
