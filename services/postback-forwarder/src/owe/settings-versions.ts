import type { SettingsAt, SettingsVersion } from '@tributary/domain/partner/owed'
import type { Pool } from 'pg'

type Query = Pick<Pool, 'query'>

/** A version of an app's settings for a partner. */
interface Version {
  app_id: string
  partner: string
  valid_from_ms: number
  /** Null: the partner was removed. */
  settings: SettingsVersion | null
}

/** The settings of an app. */
export interface AppSettings {
  settingsAt: SettingsAt
  /** Every name that some version has in `events`. */
  names: ReadonlySet<string>
}

/** The settings of those apps that ever notified a partner. */
export async function readAppSettings(pool: Query, app_ids: Iterable<string>): Promise<Map<string, AppSettings>> {
  const { rows } = await pool.query({ name: 'partner_settings', text: versionsSql, values: [[...new Set(app_ids)]] })
  const versions = rows.map(({ app_id, partner, valid_from_ms, ...rest }): Version => {
    return { app_id, partner, valid_from_ms, settings: rest.postback_url === null ? null : rest }
  })
  const byApp = Map.groupBy(versions, ({ app_id }) => app_id)
  return new Map([...byApp].map(([app_id, of]) => [app_id, ofVersions(of)]))
}

const versionsSql = `
  SELECT settings_id::text, app_id, partner, valid_from_ms::float8, postback_url, method, events, flagged
  FROM partner_postbacks WHERE app_id = ANY($1::text[]) ORDER BY app_id, partner, valid_from_ms, settings_id`

/** The versions of an app, those of each partner the oldest first. */
function ofVersions(versions: readonly Version[]): AppSettings {
  const byPartner = Map.groupBy(versions, ({ partner }) => partner)
  return {
    names: new Set(versions.flatMap(({ settings }) => settings?.events ?? [])),
    settingsAt: (partner, at_ms) =>
      byPartner.get(partner)?.findLast(({ valid_from_ms }) => valid_from_ms <= at_ms)?.settings ?? null,
  }
}
