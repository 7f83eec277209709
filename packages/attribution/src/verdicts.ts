import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Place } from '@tributary/contracts/attribution/found'

/** A decision as `installs_v1` holds it, with its position on `installs.attributed.v1`. */
export interface WrittenDecision {
  decision: Decision
  place: Omit<Place, 'index'>
}

/**
 * The newest written decision of some installs of an app. `below` leaves out what a partition wrote from an offset of a log
 * on: an earlier try of the same batch may have written it.
 */
export async function findNewest(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  install_uuids: readonly string[],
  below?: { topic: string; offset: number },
): Promise<Map<string, WrittenDecision>> {
  if (install_uuids.length === 0) return new Map()
  const earlier =
    below === undefined ? '' : 'AND (topic < {topic:String} OR (topic = {topic:String} AND offset < {offset:UInt64}))'
  const rows = await clickhouse.query<{ decision: string } & WrittenDecision['place']>(
    `SELECT decision, topic, partition, offset FROM installs_v1
     WHERE app_id = {app_id:String} AND install_uuid IN {install_uuids:Array(String)} AND sign = 1 ${earlier}
     ORDER BY install_uuid, topic DESC, offset DESC LIMIT 1 BY install_uuid`,
    { app_id, install_uuids, ...below },
  )
  return new Map(
    rows.map(({ decision: text, ...place }) => {
      const decision = JSON.parse(text) as Decision
      return [decision.install_uuid, { decision, place }]
    }),
  )
}

/** An install that has a click. */
export interface WrittenClaim {
  click_id: string
  install_uuid: string
  installed_at_ms: number
  place: Place
}

/** The installs whose newest verdict is one of these clicks of an app; several may have one for a while. */
export async function findClaims(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  click_ids: readonly string[],
): Promise<WrittenClaim[]> {
  if (click_ids.length === 0) return []
  const rows = await clickhouse.query<Omit<WrittenClaim, 'place'> & Place>(
    `SELECT click_id, install_uuid, installed_at_ms, event_topic AS topic, event_partition AS partition, event_offset AS offset,
       event_index AS index
     FROM install_claims_v1 FINAL
     WHERE app_id = {app_id:String} AND click_id IN {click_ids:Array(String)}
     GROUP BY click_id, install_uuid, installed_at_ms, event_topic, event_partition, event_offset, event_index
     HAVING sum(sign) > 0`,
    { app_id, click_ids },
  )
  return rows.map(({ topic, partition, offset, index, ...claim }) => ({
    ...claim,
    place: { topic, partition, offset, index },
  }))
}
