import { AttributionSettings, defaultAttributionSettings } from '@tributary/contracts/attribution/settings'
import type { Platform } from '@tributary/contracts/envelope'
import type { PoolClient } from 'pg'

const names = Object.keys(AttributionSettings.shape) as (keyof AttributionSettings)[]
/** No request names these columns: they have the names of the settings. */
const columns = names.join(', ')

/** SQL of the newest settings of an app `a` as JSON; null when it was never given any. */
export const newestSettings = `(SELECT row_to_json(s) FROM (SELECT ${columns} FROM attribution_settings
  WHERE app_id = a.app_id ORDER BY valid_from DESC, id DESC LIMIT 1) s)`

/** The settings of an app from what `newestSettings` read. */
export const settingsOf = (platform: Platform, newest: AttributionSettings | null): AttributionSettings =>
  newest ?? defaultAttributionSettings(platform)

/**
 * Adds the settings that hold from now on, if the change changes any. The caller holds a lock on the app. A clock that
 * is behind that of the change before does not put the new settings before the old ones.
 */
export async function addSettings(
  client: Pick<PoolClient, 'query'>,
  app_id: string,
  before: AttributionSettings,
  change: Partial<AttributionSettings>,
  now_ms: number,
): Promise<void> {
  const after = names.map((name) => change[name] ?? before[name])
  if (names.every((name, n) => after[n] === before[name])) return
  await client.query(
    `INSERT INTO attribution_settings (app_id, valid_from, ${columns})
     SELECT $1, greatest(to_timestamp($2 / 1000.0), (SELECT max(valid_from) FROM attribution_settings WHERE app_id = $1)),
       ${names.map((_, n) => `$${n + 3}`).join(', ')}`,
    [app_id, now_ms, ...after],
  )
}
