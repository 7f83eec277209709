import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { deviceKeys } from '@tributary/domain/attribute/match-keys'
import type { ErasedClick, ErasedInstall } from './batch.ts'
import { findFactRows } from './find-rows.ts'
import { coveredVerdicts, ofApp, ofInstalls } from './sql.ts'

/** Clicks of one batch; each has a row for every key. */
const clicks_max = 100

type Query = Pick<Clickhouse, 'query'>

/**
 * Clicks that go with the installs: those that they hold, and those with a device that no other install of the app has
 * (docs/rules.md#erasure). Devices are those of the facts that this batch takes: whoever has the secret of an app may send any
 * number of them. `more`: there are others, which the next batch finds.
 */
export async function findClicks(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
): Promise<{ clicks: ErasedClick[]; more: boolean }> {
  const held = await findHeld(clickhouse, app_id, installs)
  const byDevice = await findByDevice(clickhouse, app_id, installs)
  const clicks = [...new Map([...held, ...byDevice].map((click) => [click.click_id, click])).values()]
  return { clicks: clicks.slice(0, clicks_max), more: clicks.length > clicks_max }
}

const findHeld = (clickhouse: Query, app_id: string, installs: readonly ErasedInstall[]) =>
  clickhouse.query<ErasedClick>(
    `SELECT install_uuid, click_id FROM installs_v1 FINAL
     WHERE ${ofInstalls(app_id, installs)} AND ${coveredVerdicts(app_id, installs)} AND click_id != ''
     GROUP BY install_uuid, click_id HAVING sum(sign) > 0 LIMIT ${clicks_max + 1}`,
  )

async function findByDevice(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
): Promise<ErasedClick[]> {
  const { facts } = await findFactRows(clickhouse, app_id, installs)
  const owners = new Map<string, string>()
  for (const { fact } of facts) {
    if (fact.kind === 'alias') continue
    for (const key of deviceKeys(fact)) owners.set(key, fact.install_uuid)
  }
  if (owners.size === 0) return []
  const shared = await clickhouse.query<{ match_key: string }>(
    `SELECT DISTINCT toString(k.match_key) AS match_key FROM install_fact_keys_v1 AS k
     WHERE ${ofApp(app_id)} AND k.match_key IN ${keySet(owners.keys())} AND NOT (${ofInstalls(app_id, installs)})`,
  )
  for (const { match_key } of shared) owners.delete(match_key)
  if (owners.size === 0) return []
  const found: ErasedClick[] = []
  for (let after = ''; found.length <= clicks_max; ) {
    // A click may have several devices.
    const page = await clickhouse.query<{ match_key: string; click_id: string }>(
      `SELECT toString(any(k.match_key)) AS match_key, click_id FROM click_keys_v1 AS k
       WHERE ${ofApp(app_id)} AND k.match_key IN ${keySet(owners.keys())} AND clicked_at_ms <= ${Math.max(...installs.map(({ mark_ms }) => mark_ms))}
         ${after === '' ? '' : `AND click_id > ${textLiteral(after)}`}
       GROUP BY click_id ORDER BY click_id LIMIT ${clicks_max + 1}`,
    )
    if (page.length === 0) break
    after = page.at(-1)!.click_id
    const stored = await findStored(clickhouse, app_id, page)
    for (const { match_key, click_id } of page)
      if (stored.has(click_id)) found.push({ click_id, install_uuid: owners.get(match_key)! })
    if (page.length <= clicks_max) break
  }
  return found
}

/** Keys of a click may outlive its row, which expires apart: they lead to nothing, and must not take the places of others. */
async function findStored(clickhouse: Query, app_id: string, clicks: readonly { click_id: string }[]) {
  const ids = clicks.map(({ click_id }) => click_id)
  const rows = await clickhouse.query<{ click_id: string }>(
    `SELECT DISTINCT click_id FROM clicks_raw_v1 WHERE ${ofApp(app_id)} AND click_id IN (${textLiterals(ids)})`,
  )
  return new Set(rows.map(({ click_id }) => click_id))
}
