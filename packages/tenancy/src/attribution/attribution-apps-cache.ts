import { type AttributionSettings, defaultAttributionSettings } from '@tributary/contracts/attribution/settings'
import type { Platform } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'
import { openSecrets, readWithSecrets, type SecretsRow, secretsSql } from '../secrets/attribution-secrets.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import type { AttributionApp, AttributionApps } from './attribution-apps.ts'

export interface AttributionAppsOptions extends KeptLookupsOptions {
  masterKeys: MasterKeys
}

interface SettingsSince extends AttributionSettings {
  valid_from_ms: number
}

interface AppRow extends SecretsRow {
  platform: Platform
  company_apps: string[]
  /** Newest first; null when the app was never given any. */
  settings: SettingsSince[] | null
}

/** Apps for attribution from memory over PostgreSQL (promises: see `AttributionApps`). It resolves at once. */
export async function openAttributionApps({
  masterKeys,
  ...options
}: AttributionAppsOptions): Promise<AttributionApps> {
  const lookups = openKeptLookups(
    { name: 'attribution_apps', channels: ['credentials_changed', 'attribution_changed'] },
    options,
  )
  const { find } = lookups.keep(
    async (app_ids) => {
      const rows = await readWithSecrets(options.pool, masterKeys, () => readApps(options.pool, app_ids))
      return new Map(rows.map((row) => [row.app_id, row]))
    },
    (row) => toApp(row, masterKeys),
  )
  return { find, close: lookups.close }
}

async function readApps(pool: Pool, app_ids: readonly string[]): Promise<AppRow[]> {
  const { rows } = await pool.query<AppRow>({
    name: 'attribution_apps',
    text: `SELECT ${secretsSql.columns}, a.platform,
             ARRAY(SELECT b.app_id FROM apps b WHERE b.company_id = a.company_id ORDER BY b.app_id) AS company_apps,
             (SELECT json_agg(json_build_object('valid_from_ms', floor(extract(epoch FROM s.valid_from) * 1000),
                'click_window_hours', s.click_window_hours, 'probabilistic', s.probabilistic,
                'probabilistic_window_hours', s.probabilistic_window_hours, 'reinstall_days', s.reinstall_days))
              FROM (SELECT * FROM attribution_settings WHERE app_id = a.app_id
                    ORDER BY valid_from DESC, id DESC LIMIT $2) s) AS settings
           FROM apps a ${secretsSql.joins} WHERE a.app_id = ANY($1::text[])`,
    values: [app_ids, limits.attribution_settings_kept_max],
  })
  return rows
}

function toApp(row: AppRow, masterKeys: MasterKeys): AttributionApp {
  const { app_id, company_id, platform, company_apps } = row
  const history = (row.settings ?? []).map(({ valid_from_ms, ...settings }) => ({ valid_from_ms, settings }))
  const first = defaultAttributionSettings(platform)
  return {
    ...{ app_id, company_id, platform, company_apps },
    ...openSecrets(masterKeys, row),
    settingsAt: (received_at_ms) =>
      history.find(({ valid_from_ms }) => valid_from_ms <= received_at_ms)?.settings ?? first,
  }
}
