import type { CreateLink, Link, LinkStatus } from '@tributary/contracts/admin/links'
import type { Platform } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { linkIdShape, makeLinkId } from '../attribution/link-id.ts'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { mustHaveIdShape } from './tenants.ts'

type Client = Pick<PoolClient, 'query'>
/** A link without its address, which depends on where links are served. */
type StoredLink = Omit<Link, 'url'>

interface StorePage {
  platform: Platform
  bundle_id: string | null
  store_id: string | null
}

/** Makes a link and returns its id. Throws `unknown_app`, and `invalid_field` for an app without a store page. */
export function createLink(pool: Pool, input: CreateLink, request: AdminRequest): Promise<string> {
  const { app_id } = input
  mustHaveIdShape(app_id, 'unknown_app')
  const link_id = makeLinkId()
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<StorePage & { links: number }>(
      `SELECT platform, bundle_id, store_id, (SELECT count(*)::int FROM links l WHERE l.app_id = a.app_id) AS links
       FROM apps a WHERE app_id = $1 FOR NO KEY UPDATE`, // or a change of the app could remove the id meanwhile
      [app_id],
    )
    if (rows[0] === undefined) throw new CodedError('unknown_app', { field: 'app_id' })
    mustHaveStorePage(rows[0])
    if (rows[0].links >= limits.app_links_max) throw tooManyLinks()
    await insertLink(client, link_id, input, request.now_ms)
    await recordAdminAction(client, request, { action: 'link.create', subject: link_id, detail: input })
    return link_id
  })
}

/** Throws `invalid_field` that names the id without which an app has no page in its store. */
export function mustHaveStorePage(app: StorePage): void {
  const field = app.platform === 'ios' ? 'store_id' : 'bundle_id'
  if (app[field]?.trim()) return
  throw new CodedError('invalid_field', { field, message: `The links of an ${app.platform} app need its ${field}.` })
}

/** Whether an app has links, disabled ones too. */
export async function hasLinks(client: Client, app_id: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM links WHERE app_id = $1 LIMIT 1', [app_id])
  return rowCount === 1
}

const tooManyLinks = () =>
  new CodedError('invalid_field', {
    field: 'app_id',
    message: `An app has at most ${limits.app_links_max} links.`,
  })

async function insertLink(client: Client, link_id: string, input: CreateLink, now_ms: number): Promise<void> {
  const { app_id, partner, campaign, ad_group, creative, fallback_url, deep_link, countries } = input
  await client.query(
    `INSERT INTO links (link_id, app_id, partner, campaign, ad_group, creative, fallback_url, deep_link, countries,
       lookback_hours, honeypot, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, to_timestamp($12 / 1000.0))`,
    [
      ...[link_id, app_id, partner, campaign, ad_group, creative, fallback_url, deep_link, countries],
      ...[input.lookback_hours, input.honeypot, now_ms],
    ],
  )
}

/** The links of an app, disabled ones too, oldest first. Throws `unknown_app`. */
export async function listLinks(pool: Pool, app_id: string): Promise<StoredLink[]> {
  mustHaveIdShape(app_id, 'unknown_app')
  const { rows } = await pool.query(
    `SELECT a.app_id, l.link_id, l.partner, l.campaign, l.ad_group, l.creative, l.fallback_url, l.deep_link, l.countries,
            l.lookback_hours, l.honeypot, CASE WHEN l.enabled THEN 'enabled' ELSE 'disabled' END AS status,
            floor(extract(epoch FROM l.created_at) * 1000)::text AS created_at_ms
     FROM apps a LEFT JOIN links l USING (app_id) WHERE a.app_id = $1 ORDER BY l.created_at, l.link_id`,
    [app_id],
  )
  if (rows.length === 0) throw new CodedError('unknown_app', { field: 'app_id' })
  return rows
    .filter(({ link_id }) => link_id !== null)
    .map((row) => ({ ...row, created_at_ms: Number(row.created_at_ms) }))
}

/** Enables or disables a link; one that has the status already stays as it is, and nothing is logged. */
export function setLinkStatus(
  pool: Pool,
  link_id: string,
  status: LinkStatus['status'],
  request: AdminRequest,
): Promise<LinkStatus> {
  if (!linkIdShape.test(link_id)) throw new CodedError('unknown_link')
  const enabled = status === 'enabled'
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query('SELECT enabled FROM links WHERE link_id = $1 FOR UPDATE', [link_id])
    if (rows.length === 0) throw new CodedError('unknown_link')
    if (rows[0].enabled !== enabled) {
      await client.query('UPDATE links SET enabled = $2 WHERE link_id = $1', [link_id, enabled])
      const action = enabled ? 'link.enable' : 'link.disable'
      const before = { status: enabled ? 'disabled' : 'enabled' }
      await recordAdminAction(client, request, { action, subject: link_id, before, detail: { status } })
    }
    return { link_id, status }
  })
}
