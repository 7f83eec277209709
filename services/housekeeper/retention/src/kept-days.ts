import { defaultRetention, type Retention } from '@tributary/contracts/admin/companies'
import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pool } from 'pg'

/** An app and how long its company keeps its data. */
export interface KeptApp extends Retention {
  app_id: string
  company_id: string
  /** Audit objects of earlier UTC days hold no address any more. */
  addresses_blanked_before: string
}

/** Every app with the settings of its company. */
export async function readKeptApps(pool: Pick<Pool, 'query'>): Promise<KeptApp[]> {
  const { rows } = await pool.query<KeptApp>(
    `SELECT a.app_id, a.company_id, c.keep_ip_days, c.keep_click_days, c.keep_raw_days,
       coalesce(c.addresses_blanked_before, '1970-01-01')::text AS addresses_blanked_before
     FROM apps a JOIN companies c USING (company_id) ORDER BY a.app_id`,
  )
  return rows
}

/** The first UTC day (`YYYY-MM-DD`) that is kept: the whole of each day before it is older than the setting. */
export const firstKeptDay = (now_ms: number, kept_days: number): string => utcDay(now_ms - kept_days * day_ms)

/** First kept days by app where they are not `otherwise`, which holds for all other apps. */
export interface FirstKept {
  days: Map<string, string>
  /** Null: all days are kept. */
  otherwise: string | null
}

/** The first kept days of a setting at a time. Rows of unknown apps are kept as by default. */
export function firstKept(apps: readonly KeptApp[], setting: keyof Retention, now_ms: number): FirstKept {
  const dayOf = (kept: number | null) => (kept === null ? null : firstKeptDay(now_ms, kept))
  const otherwise = dayOf(defaultRetention[setting])
  const days = apps.flatMap((app): [string, string][] => {
    const day = dayOf(app[setting])
    return day === otherwise ? [] : [[app.app_id, day ?? '1970-01-01']]
  })
  return { days: new Map(days), otherwise }
}
