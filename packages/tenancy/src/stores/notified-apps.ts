import type { Platform } from '@tributary/contracts/envelope'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'

/** An app that a store notifies, with what its notifications must name. */
export interface NotifiedApp {
  app_id: string
  company_id: string
  platform: Platform
  /** Bundle id or package name; null: the app has none, and no notification can be its own. */
  bundle_id: string | null
  /** Audience of Google's tokens; null: the address that is pushed to. */
  google_push_audience: string | null
  /** Service account of Google's tokens; null: none is taken. */
  google_push_email: string | null
}

/** Apps by their app key, kept in memory like credentials (promises: see `Credentials`). Suspended companies have them too. */
export interface NotifiedApps {
  find(app_key: string): Promise<NotifiedApp | null>
  close(): Promise<void>
}

const appKeyShape = /^app_live_[0-9a-f]{32}$/
const nobody = Promise.resolve(null)

/** Apps over PostgreSQL. It resolves at once; a key of a wrong shape is answered null without a query. */
export async function openNotifiedApps(options: KeptLookupsOptions): Promise<NotifiedApps> {
  const lookups = openKeptLookups({ name: 'notified_apps', channels: ['credentials_changed'] }, options)
  const { find } = lookups.keep(
    async (keys) => {
      const { rows } = await options.pool.query<NotifiedApp & { app_key: string }>({
        name: 'notified_apps',
        text: `SELECT app_key, app_id, company_id, platform, nullif(bundle_id, '') AS bundle_id, google_push_audience,
                 google_push_email
               FROM apps WHERE app_key = ANY($1::text[])`,
        values: [keys],
      })
      return new Map(rows.map(({ app_key, ...app }) => [app_key, app]))
    },
    (app: NotifiedApp) => app,
  )
  return { find: (app_key) => (appKeyShape.test(app_key) ? find(app_key) : nobody), close: lookups.close }
}
