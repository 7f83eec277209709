import { type AttributionSettings, defaultAttributionSettings } from '@tributary/contracts/attribution/settings'
import type { Platform } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { clicksDeletedBeforeSql } from '../companies/tenants.ts'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'
import { openSecrets, readWithSecrets, type SecretsRow, secretsSql } from '../secrets/attribution-secrets.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import type { AppWithSecrets, AttributionApp, AttributionApps } from './attribution-apps.ts'

export interface AppsWithSecretsOptions extends KeptLookupsOptions {
  masterKeys: MasterKeys
}

interface SettingsSince extends AttributionSettings {
  valid_from_ms: number
}

interface AppRow {
  app_id: string
  company_id: string
  platform: Platform
  company_apps: string[]
  clicks_deleted_before_ms: number
  /** Newest first; null when the app was never given any. */
  settings: SettingsSince[] | null
}

const channels = ['credentials_changed', 'attribution_changed'] as const

/** Apps for attribution from memory over PostgreSQL (promises: see `AttributionApps`). It resolves at once. */
export async function openAttributionApps(options: KeptLookupsOptions): Promise<AttributionApps> {
  const lookups = openKeptLookups({ name: 'attribution_apps', channels }, options)
  const { find } = lookups.keep(async (app_ids) => byId(await readApps(options.pool, app_ids)), toApp)
  return { find, close: lookups.close }
}

/** The same with the secrets of each app. One whose master key is not given rejects, and no other. */
export async function openAppsWithSecrets({
  masterKeys,
  ...options
}: AppsWithSecretsOptions): Promise<AttributionApps<AppWithSecrets>> {
  const { pool } = options
  const lookups = openKeptLookups({ name: 'apps_with_secrets', channels }, options)
  const { find } = lookups.keep(
    async (app_ids) => byId(await readWithSecrets(pool, masterKeys, () => readAppsWithSecrets(pool, app_ids))),
    (row): AppWithSecrets => ({ ...toApp(row), ...openSecrets(masterKeys, row) }),
  )
  return { find, close: lookups.close }
}

const byId = <Row extends AppRow>(rows: readonly Row[]) => new Map(rows.map((row) => [row.app_id, row]))

const appColumns = `a.platform,
  ARRAY(SELECT b.app_id FROM apps b WHERE b.company_id = a.company_id ORDER BY b.app_id) AS company_apps,
  (SELECT ${clicksDeletedBeforeSql} FROM companies c WHERE c.company_id = a.company_id) AS clicks_deleted_before_ms,
  (SELECT json_agg(json_build_object('valid_from_ms', floor(extract(epoch FROM s.valid_from) * 1000),
     'click_window_hours', s.click_window_hours, 'probabilistic', s.probabilistic,
     'probabilistic_window_hours', s.probabilistic_window_hours, 'reinstall_days', s.reinstall_days))
   FROM (SELECT * FROM attribution_settings WHERE app_id = a.app_id
         ORDER BY valid_from DESC, id DESC LIMIT $2) s) AS settings`

async function readApps(pool: Pool, app_ids: readonly string[]): Promise<AppRow[]> {
  const { rows } = await pool.query<AppRow>({
    name: 'attribution_apps',
    text: `SELECT a.app_id, a.company_id, ${appColumns} FROM apps a WHERE a.app_id = ANY($1::text[])`,
    values: [app_ids, limits.attribution_settings_kept_max],
  })
  return rows
}

async function readAppsWithSecrets(pool: Pool, app_ids: readonly string[]): Promise<(AppRow & SecretsRow)[]> {
  const { rows } = await pool.query<AppRow & SecretsRow>({
    name: 'apps_with_secrets',
    text: `SELECT ${secretsSql.columns}, ${appColumns} FROM apps a ${secretsSql.joins} WHERE a.app_id = ANY($1::text[])`,
    values: [app_ids, limits.attribution_settings_kept_max],
  })
  return rows
}

function toApp(row: AppRow): AttributionApp {
  const { app_id, company_id, platform, company_apps, clicks_deleted_before_ms } = row
  const history = (row.settings ?? []).map(({ valid_from_ms, ...settings }) => ({ valid_from_ms, settings }))
  const first = defaultAttributionSettings(platform)
  return {
    ...{ app_id, company_id, platform, company_apps, clicks_deleted_before_ms },
    settingsAt: (received_at_ms) =>
      history.find(({ valid_from_ms }) => valid_from_ms <= received_at_ms)?.settings ?? first,
  }
}
