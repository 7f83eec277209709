import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Found } from '@tributary/contracts/admin/rows/find'
import { type Click, clickIdShape } from '@tributary/contracts/attribution/click'
import { idShape } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { findClaims } from '../attribution/verdicts.ts'

interface AskedId {
  app_id: string
  id: string
}

type Queries = Pick<Clickhouse, 'query'>

/** The install, the user and the click of an app that have exactly this id. */
export async function findIds(clickhouse: Queries, asked: AskedId): Promise<Found[]> {
  return [
    ...(await findInstall(clickhouse, asked)),
    ...(await findUser(clickhouse, asked)),
    ...(await findClick(clickhouse, asked)),
  ]
}

async function findInstall(clickhouse: Queries, { app_id, id }: AskedId): Promise<Found[]> {
  if (!idShape.test(id)) return []
  const rows = await clickhouse.query(
    'SELECT 1 FROM activity_by_day_v1 WHERE app_id = {app_id:String} AND install_key = sipHash64({id:String}) LIMIT 1',
    { app_id, id },
  )
  return rows.length === 0 ? [] : [{ kind: 'install', install_uuid: id }]
}

async function findUser(clickhouse: Queries, { app_id, id }: AskedId): Promise<Found[]> {
  const installs = await clickhouse.query<{ install_uuid: string; since_ms: number }>(
    `SELECT install_uuid, min(i.since_ms) AS since_ms FROM identities_v1 AS i
     WHERE app_id = {app_id:String} AND user_id = {id:String}
     GROUP BY install_uuid ORDER BY since_ms DESC, install_uuid LIMIT ${limits.find_rows_max}`,
    { app_id, id },
  )
  return installs.length === 0 ? [] : [{ kind: 'user', user_id: id, installs }]
}

async function findClick(clickhouse: Queries, { app_id, id }: AskedId): Promise<Found[]> {
  if (!clickIdShape.test(id)) return []
  const [row] = await clickhouse.query<{ click: string }>(
    'SELECT click FROM clicks_raw_v1 WHERE app_id = {app_id:String} AND click_id = {id:String} LIMIT 1',
    { app_id, id },
  )
  if (row === undefined) return []
  const { click_id, link_id, partner, campaign, clicked_at_ms, filtered_reason } = JSON.parse(row.click) as Click
  const claims = await findClaims(clickhouse, app_id, [id])
  const install_uuids = claims.map(({ install_uuid }) => install_uuid)
  return [{ kind: 'click', click_id, link_id, partner, campaign, clicked_at_ms, filtered_reason, install_uuids }]
}
