import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { ClickCount, LinkClick } from '@tributary/contracts/admin/rows/clicks'
import type { Click } from '@tributary/contracts/attribution/click'
import { type ClickWindow, clickParams, inClickWindow } from './click-window.ts'

/** Clicks of one tracking link. `partner` is that of the link. */
export interface LinkClicksFilter extends ClickWindow {
  link_id: string
  partner: string
}

/** The place of a click in the list. */
export type ClickPosition = Pick<LinkClick, 'clicked_at_ms' | 'click_id'>

const ofLink = `${inClickWindow} AND c.partner = {partner:String} AND JSONExtractString(c.click, 'link_id') = {link_id:String}`

/** SQL of how many clicks a row stands for. */
export const weightSql = `toUInt64(greatest(1, JSONExtractUInt(c.click, 'weight')))`

/** Clicks of a link by hour or day, the oldest first. */
export function countLinkClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  filter: LinkClicksFilter,
  period_ms: number,
): Promise<ClickCount[]> {
  return clickhouse.query<ClickCount>(
    `SELECT toInt64(intDiv(c.clicked_at_ms, {period_ms:Int64}) * {period_ms:Int64}) AS since_ms,
       countIf(c.filtered_reason = '') AS clicks, sumIf(${weightSql}, c.filtered_reason != '') AS filtered
     FROM clicks_raw_v1 AS c FINAL WHERE ${ofLink} GROUP BY since_ms ORDER BY since_ms`,
    { ...clickParams(filter), period_ms },
  )
}

/** Clicks of a link, the newest first, at most `limit` behind `after`. */
export async function listLinkClicks(
  clickhouse: Pick<Clickhouse, 'query'>,
  filter: LinkClicksFilter,
  { limit, after }: { limit: number; after: ClickPosition | null },
): Promise<LinkClick[]> {
  const behind = after === null ? '' : 'AND (c.clicked_at_ms, c.click_id) < ({at_ms:Int64}, {at_id:String})'
  const rows = await clickhouse.query<{ click: string }>(
    `SELECT c.click AS click FROM clicks_raw_v1 AS c FINAL WHERE ${ofLink} ${behind}
     ORDER BY c.clicked_at_ms DESC, c.click_id DESC LIMIT {limit:UInt32}`,
    { ...clickParams(filter), limit, at_ms: after?.clicked_at_ms ?? 0, at_id: after?.click_id ?? '' },
  )
  return rows.map(({ click }) => {
    const { click_id, clicked_at_ms, filtered_reason, country, os, ext_click_id, weight } = JSON.parse(click) as Click
    return {
      click_id,
      clicked_at_ms,
      filtered_reason,
      country,
      os,
      ext_click_id,
      ...(weight !== undefined && { weight }),
    }
  })
}
