import type { PartnerOfApp, PartnerSettings, SetPartner } from '@tributary/contracts/admin/partners'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import type { MasterKeys, SecretBinding } from '../secrets/master-keys.ts'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { mustHaveIdShape } from './tenants.ts'

/** The binding of a secret that signs postbacks. */
export const partnerSecretBinding = (app: { company_id: string; app_id: string }): SecretBinding => ({
  ...{ purpose: 'partner_secret', company_id: app.company_id, app_id: app.app_id },
})

type Client = Pick<PoolClient, 'query'>
type StoredSettings = PartnerSettings & { settings_id: string }

/** Columns of `PartnerSettings` of a version `p`. */
const columns = `p.settings_id::text, p.app_id, p.partner, p.postback_url, p.method, p.events, p.flagged,
  EXISTS (SELECT 1 FROM partner_secrets s WHERE s.settings_id = p.settings_id) AS signed, p.valid_from_ms::float8 AS set_at_ms`

/** The newest settings of the partners of an app, without removed ones, by name. Throws `unknown_app`. */
export async function listPartners(pool: Pool, app_id: string): Promise<PartnerSettings[]> {
  mustHaveIdShape(app_id, 'unknown_app')
  const { rows: apps } = await pool.query('SELECT 1 FROM apps WHERE app_id = $1', [app_id])
  if (apps.length === 0) throw new CodedError('unknown_app', { field: 'app_id' })
  const { rows } = await pool.query<StoredSettings>(
    `SELECT * FROM (
       SELECT DISTINCT ON (p.partner) ${columns} FROM partner_postbacks p
       WHERE p.app_id = $1 ORDER BY p.partner, p.valid_from_ms DESC, p.settings_id DESC) AS newest
     WHERE postback_url IS NOT NULL ORDER BY partner`,
    [app_id],
  )
  return rows.map(withoutId)
}

const withoutId = ({ settings_id: _, ...settings }: StoredSettings): PartnerSettings => settings

/** The newest settings of a partner; null for one without any, and for a removed one. */
export async function findPartner(client: Client, { app_id, partner }: PartnerOfApp): Promise<StoredSettings | null> {
  const { rows } = await client.query<StoredSettings>(
    `SELECT ${columns} FROM partner_postbacks p WHERE p.app_id = $1 AND p.partner = $2
     ORDER BY p.valid_from_ms DESC, p.settings_id DESC LIMIT 1`,
    [app_id, partner],
  )
  const newest = rows[0]
  return newest === undefined || newest.postback_url === null ? null : newest
}

/**
 * Makes the next version of a partner's settings. It acts on what is decided from now on, so its time is never before that of the
 * version before. Throws `unknown_app`.
 */
export function setPartner(
  { pool, masterKeys }: { pool: Pool; masterKeys: MasterKeys },
  { hmac_secret, ...given }: SetPartner,
  request: AdminRequest,
): Promise<PartnerSettings> {
  const { app_id, partner } = given
  return inTransaction(pool, async (client) => {
    const app = await lockApp(client, app_id)
    const before = await findPartner(client, given)
    if (before === null) await mustHaveRoom(client, app_id)
    const settings_id = await insertVersion(client, given, request.now_ms)
    if (typeof hmac_secret === 'string') await insertSecret(client, masterKeys, app, settings_id, hmac_secret)
    else if (hmac_secret === undefined && before !== null) await keepSecret(client, before.settings_id, settings_id)
    const after = (await findPartner(client, given))!
    await recordAdminAction(client, request, {
      ...{ action: 'partner.set', subject: app_id, detail: logged(after, hmac_secret) },
      ...(before !== null && { before: logged(before, undefined) }),
    })
    return withoutId({ ...after, partner })
  })
}

/** Ends the settings of a partner. What is due dies by the forwarder. Throws `unknown_partner`. */
export function removePartner(pool: Pool, named: PartnerOfApp, request: AdminRequest): Promise<void> {
  return inTransaction(pool, async (client) => {
    await lockApp(client, named.app_id)
    const before = await findPartner(client, named)
    if (before === null) throw unknownPartner()
    await insertVersion(client, { ...named, postback_url: null }, request.now_ms)
    const detail = { partner: named.partner, status: 'removed' }
    const action = { action: 'partner.remove', subject: named.app_id, detail, before: logged(before, undefined) }
    await recordAdminAction(client, request, action)
  })
}

export const unknownPartner = () => new CodedError('unknown_partner', { field: 'partner' })

/** The settings as the audit log has them: whether a secret was given, never the secret. */
const logged = ({ partner, postback_url, method, events, flagged, signed }: PartnerSettings, secret: unknown) => ({
  ...{ partner, postback_url, method, events, flagged, signed },
  ...(typeof secret === 'string' && { hmac_secret: 'new' }),
})

/** Changes of an app's partners are made one after the other. */
async function lockApp(client: Client, app_id: string): Promise<{ app_id: string; company_id: string }> {
  mustHaveIdShape(app_id, 'unknown_app')
  const sql = 'SELECT app_id, company_id FROM apps WHERE app_id = $1 FOR NO KEY UPDATE'
  const { rows } = await client.query<{ app_id: string; company_id: string }>(sql, [app_id])
  if (rows[0] === undefined) throw new CodedError('unknown_app', { field: 'app_id' })
  return rows[0]
}

async function mustHaveRoom(client: Client, app_id: string): Promise<void> {
  const sql = 'SELECT count(DISTINCT partner)::int AS partners FROM partner_postbacks WHERE app_id = $1'
  const { rows } = await client.query<{ partners: number }>(sql, [app_id])
  if (rows[0]!.partners < limits.app_partners_max) return
  const message = `An app has at most ${limits.app_partners_max} partners.`
  throw new CodedError('invalid_field', { field: 'partner', message })
}

type Version = PartnerOfApp &
  Partial<Pick<SetPartner, 'method' | 'events' | 'flagged'>> & { postback_url: string | null }

async function insertVersion(client: Client, version: Version, now_ms: number): Promise<string> {
  const { app_id, partner, postback_url, method = 'GET', events = [], flagged = 'skip' } = version
  const { rows } = await client.query<{ settings_id: string }>(
    `INSERT INTO partner_postbacks (app_id, partner, postback_url, method, events, flagged, valid_from_ms)
     SELECT $1, $2, $3, $4, $5, $6, greatest($7::bigint, max(valid_from_ms)) FROM partner_postbacks
     WHERE app_id = $1 AND partner = $2 RETURNING settings_id::text`,
    [app_id, partner, postback_url, method, events, flagged, now_ms],
  )
  return rows[0]!.settings_id
}

async function insertSecret(
  client: Client,
  masterKeys: MasterKeys,
  app: { app_id: string; company_id: string },
  settings_id: string,
  secret: string,
): Promise<void> {
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(secret, partnerSecretBinding(app))
  await client.query(
    'INSERT INTO partner_secrets (settings_id, app_id, key_id, iv, ciphertext, tag) VALUES ($1, $2, $3, $4, $5, $6)',
    [settings_id, app.app_id, key_id, iv, ciphertext, tag],
  )
}

const keepSecret = (client: Client, from: string, to: string) =>
  client.query(
    `INSERT INTO partner_secrets (settings_id, app_id, key_id, iv, ciphertext, tag)
     SELECT $2, app_id, key_id, iv, ciphertext, tag FROM partner_secrets WHERE settings_id = $1`,
    [from, to],
  )
