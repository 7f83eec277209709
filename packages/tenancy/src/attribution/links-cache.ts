import type { Pool } from 'pg'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'
import { openSecrets, readWithSecrets, type SecretsRow, secretsSql } from '../secrets/attribution-secrets.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { linkIdShape } from './link-id.ts'
import type { Links, TrackingLink } from './links.ts'

export interface LinksOptions extends KeptLookupsOptions {
  masterKeys: MasterKeys
}

type LinkRow = Omit<TrackingLink, 'link_secret' | 'salt'> & SecretsRow

const nobody = Promise.resolve(null)

/**
 * Links from memory over PostgreSQL (promises: see `Links`). It resolves at once; an id of a wrong shape is answered null
 * without a query.
 */
export async function openLinks({ masterKeys, ...options }: LinksOptions): Promise<Links> {
  const lookups = openKeptLookups({ name: 'links', channels: ['credentials_changed', 'attribution_changed'] }, options)
  const { find, recall } = lookups.keep(
    async (link_ids) => {
      const rows = await readWithSecrets(options.pool, masterKeys, () => readLinks(options.pool, link_ids))
      return new Map(rows.map((row) => [row.link_id, row]))
    },
    (row): TrackingLink => ({ ...row, ...openSecrets(masterKeys, row) }),
  )
  const isId = (link_id: string) => linkIdShape.test(link_id)
  return {
    find: (link_id) => (isId(link_id) ? find(link_id) : nobody),
    recall: (link_id) => (isId(link_id) ? recall(link_id) : 'unknown'),
    close: lookups.close,
  }
}

async function readLinks(pool: Pool, link_ids: readonly string[]): Promise<LinkRow[]> {
  const { rows } = await pool.query<LinkRow>({
    name: 'links',
    text: `SELECT ${secretsSql.columns}, l.link_id, l.enabled, c.status AS company_status, l.partner, l.campaign, l.ad_group,
             l.creative, l.fallback_url, l.deep_link, l.countries, l.lookback_hours, l.honeypot, a.platform,
             nullif(a.bundle_id, '') AS bundle_id, nullif(a.store_id, '') AS store_id,
             nullif(a.provider_token, '') AS provider_token
           FROM links l JOIN apps a ON a.app_id = l.app_id JOIN companies c ON c.company_id = a.company_id
           ${secretsSql.joins} WHERE l.link_id = ANY($1::text[])`,
    values: [link_ids],
  })
  return rows
}
