import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { FollowedPostback } from '@tributary/contracts/admin/live/follow'
import { limits } from '@tributary/contracts/limits'

/** A postback, with the hash of what may be won once. */
export interface ValidPostback extends Omit<FollowedPostback, 'kind'> {
  store_id: string
  postback_key: string
}

/** The newest valid postbacks about some apps that were received since a time, each once and the oldest first; a limited number of each app. */
export async function findPostbacks(
  clickhouse: Pick<Clickhouse, 'query'>,
  store_ids: readonly string[],
  since_ms: number,
): Promise<ValidPostback[]> {
  if (store_ids.length === 0) return []
  const literals = store_ids.map((store_id) => BigInt(store_id)).join(', ')
  const rows = await clickhouse.query<Omit<ValidPostback, 'did_win'> & { did_win: number | null }>(
    `SELECT * FROM (
       SELECT toString(p.advertised_item_id) AS store_id, toString(p.postback_key) AS postback_key, toInt64(p.received_at_ms) AS at_ms,
         p.protocol AS protocol, p.environment AS environment, p.network AS network, p.source AS source,
         p.sequence_index AS sequence_index, p.fine AS fine, p.coarse AS coarse, p.did_win AS did_win
       FROM postbacks_decoded_v1 AS p
       WHERE p.advertised_item_id IN (${literals}) AND p.day >= toDate(fromUnixTimestamp64Milli(toInt64(${Number(since_ms)}), 'UTC'))
         AND p.received_at_ms >= ${Number(since_ms)} AND p.verdict = 'valid' AND p.moved = 0
       ORDER BY p.received_at_ms LIMIT 1 BY p.advertised_item_id, p.postback_key
     ) ORDER BY at_ms DESC LIMIT ${limits.follow_postbacks_max} BY store_id`,
  )
  return rows.toReversed().map(({ did_win, ...row }) => ({ ...row, did_win: did_win === null ? null : did_win === 1 }))
}
