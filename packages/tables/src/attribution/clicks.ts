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

type ClickRow = Record<'click' | 'ip' | 'user_agent', string> & Omit<Place, 'index'>

const toClick = ({ click, ip, user_agent, ...place }: ClickRow): KeptClick => ({
  ...(JSON.parse(click) as Omit<Click, 'ip' | 'user_agent'>),
  ...{ ip, user_agent, place: { ...place, index: 0 } },
})

type Query = Pick<Clickhouse, 'query'>

export interface ClickLookup {
  app_id: string
  click_ids: readonly string[]
}

/**
 * Clicks of an app in the order of their ids; those that are not there are left out. Each column costs a block for each click: so the text
 * of a click tells its app, and keys are read only where they stand for an address that retention has blanked.
 */
export async function findClicks(clickhouse: Query, { app_id, click_ids }: ClickLookup): Promise<KeptClick[]> {
  if (click_ids.length === 0) return []
  const rows = await clickhouse.query<ClickRow>(
    `SELECT click, ip, user_agent, topic, partition, offset FROM clicks_raw_v1 ${ofIds(app_id, click_ids)}`,
  )
  const all = rows.map(toClick).filter((click) => click.app_id === app_id)
  const byId = Map.groupBy(all, ({ click_id }) => click_id)
  const found = [...byId].toSorted(([a], [b]) => Number(a > b) - Number(a < b)).map(([, of]) => of.toSorted(byRow)[0]!)
  const blanked = found.filter(({ ip }) => ip === '').map(({ click_id }) => click_id)
  const keys = await findKeys(clickhouse, { app_id, click_ids: blanked })
  return found.flatMap((click) => {
    if (click.ip !== '') return [click]
    const match_keys = keys.get(click.click_id)
    return match_keys === undefined ? [] : [{ ...click, match_keys }] // It was deleted meanwhile.
  })
}

/** Order of the rows of a click that several logs have. */
const byRow = ({ place: a }: KeptClick, { place: b }: KeptClick): number =>
  Number(a.topic > b.topic) - Number(a.topic < b.topic) || a.partition - b.partition || a.offset - b.offset

/** Keys of clicks whose address is blank, by id. */
async function findKeys(clickhouse: Query, { app_id, click_ids }: ClickLookup): Promise<Map<string, string[]>> {
  if (click_ids.length === 0) return new Map()
  const rows = await clickhouse.query<{ click_id: string; keys: string[] }>(
    `SELECT click_id, arrayMap(key -> toString(key), match_keys) AS keys FROM clicks_raw_v1
     ${ofIds(app_id, click_ids)} AND app_id = ${textLiteral(app_id)} AND ip = ''`,
  )
  return new Map(rows.map(({ click_id, keys }) => [click_id, keys]))
}

/** Rows of clicks of an app, and perhaps others that have these ids. */
const ofIds = (app_id: string, click_ids: readonly string[]): string =>
  `PREWHERE click_id IN (${textLiterals(click_ids)}) WHERE indexHint(app_id = ${textLiteral(app_id)})`

/** A row that a partition of a log wrote. */
export type ClickPlace = Pick<Click, 'app_id' | 'click_id' | 'clicked_at_ms'> & { offset: number }

/** Whether `clicks_raw_v1` has a click, of whatever log. It reads one granule, however large the table is. */
export async function hasClick(
  clickhouse: Query,
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
  clickhouse: Query,
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
