import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { AppInstall, AppInstallsQuery } from '@tributary/contracts/admin/rows/installs'
import { limits } from '@tributary/contracts/limits'
import { inSlices } from './in-slices.ts'

/** Installs of an app to list. */
export interface InstallFilter
  extends Pick<AppInstallsQuery, 'partner' | 'campaign' | 'attribution_type' | 'flagged' | 'reinstall'> {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** The place of an install in the list. */
export type InstallPosition = Pick<AppInstall, 'installed_at_ms' | 'install_uuid'>

/** An hour with installs. */
interface Hour {
  from_ms: number
  /** Exclusive. */
  to_ms: number
  rows: number
}

/**
 * Installs with a verdict, the newest first, at most `limit` behind `after`. Only the texts of a slice of the window are read at a
 * time, since `installs_v1` is not in the order of time.
 */
export async function listInstalls(
  clickhouse: Pick<Clickhouse, 'query'>,
  filter: InstallFilter,
  { limit, after }: { limit: number; after: InstallPosition | null },
): Promise<AppInstall[]> {
  const until_ms = Math.min(filter.until_ms, after === null ? filter.until_ms : after.installed_at_ms + 1)
  const params = { ...filter, until_ms }
  const found: AppInstall[] = []
  const behind = { at_ms: after?.installed_at_ms ?? 0, at_uuid: after?.install_uuid ?? '' }
  const hours = await clickhouse.query<Hour>(hoursSql(filter), params)
  for (const slice of inSlices(hours, ({ rows }) => rows, limits.install_slice_rows)) {
    const [{ to_ms }, { from_ms }] = [slice[0]!, slice.at(-1)!]
    const window = { since_ms: Math.max(filter.since_ms, from_ms), until_ms: Math.min(until_ms, to_ms) }
    const page = { ...behind, limit: limit - found.length }
    found.push(...(await clickhouse.query<AppInstall>(installsSql(filter, after), { ...params, ...window, ...page })))
    if (found.length >= limit) break
  }
  return found.map((row) => ({ ...row, reinstall: Boolean(row.reinstall) }))
}

/** SQL condition for the installs of a window, of a table with the alias `i`. */
export const inInstallWindow = `app_id = {app_id:String} AND i.day >= toDate(fromUnixTimestamp64Milli({since_ms:Int64}, 'UTC'))
  AND i.day <= toDate(fromUnixTimestamp64Milli({until_ms:Int64}, 'UTC'))
  AND i.installed_at_ms >= {since_ms:Int64} AND i.installed_at_ms < {until_ms:Int64}`

/** Conditions on columns that both tables have. */
const simpleSql = ({ partner, attribution_type, reinstall }: InstallFilter): string[] => [
  ...(partner === undefined ? [] : ['i.partner = {partner:String}']),
  ...(attribution_type === undefined ? [] : ['i.attribution_type = {attribution_type:String}']),
  ...(reinstall === undefined ? [] : [`i.reinstall = ${reinstall ? 1 : 0}`]),
]

/** Hours with installs, the newest first. */
function hoursSql(filter: InstallFilter): string {
  const { flagged } = filter
  const where = [
    inInstallWindow,
    ...simpleSql(filter),
    ...(flagged === undefined ? [] : [`i.flagged = ${flagged ? 1 : 0}`]),
  ]
  return `
SELECT intDiv(i.installed_at_ms, 3600000) * 3600000 AS from_ms, from_ms + 3600000 AS to_ms, count() AS rows
FROM installs_by_day_v1 AS i WHERE ${where.join(' AND ')}
GROUP BY from_ms ORDER BY from_ms DESC`
}

/**
 * SQL that groups rows of `installs_v1` by their verdict and leaves those that count: a cancelled one has as many rows with sign -1 as with
 * 1, and a row that was written twice counts once.
 */
export const liveVerdicts = `
GROUP BY i.install_uuid, i.installed_at_ms, i.partner, i.attribution_type, i.campaign, i.link_id, i.click_id, i.reinstall, i.fraud_flags
HAVING uniqExactIf((topic, partition, offset), sign = 1) > uniqExactIf((topic, partition, offset), sign = -1)`

function installsSql(filter: InstallFilter, after: InstallPosition | null): string {
  const { campaign, flagged } = filter
  const where = [
    ...[inInstallWindow, 'i.pending = 0', ...simpleSql(filter)],
    ...(campaign === undefined ? [] : ['i.campaign = {campaign:String}']),
    ...(flagged === undefined ? [] : [`notEmpty(i.fraud_flags) = ${flagged ? 1 : 0}`]),
    ...(after === null ? [] : ['(i.installed_at_ms, i.install_uuid) < ({at_ms:Int64}, {at_uuid:String})']),
  ]
  return `
SELECT i.install_uuid AS install_uuid, toInt64(i.installed_at_ms) AS installed_at_ms, i.partner AS partner,
  i.attribution_type AS attribution_type, nullIf(i.campaign, '') AS campaign, nullIf(i.link_id, '') AS link_id,
  nullIf(i.click_id, '') AS click_id, i.reinstall AS reinstall, i.fraud_flags AS fraud_flags
FROM installs_v1 AS i WHERE ${where.join(' AND ')}
${liveVerdicts}
ORDER BY i.installed_at_ms DESC, install_uuid DESC LIMIT {limit:UInt32}`
}
