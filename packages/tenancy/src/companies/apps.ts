import type { App, ChangeApp, SecretRotated, StoreIdMoved } from '@tributary/contracts/admin/apps'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { removeLostSecrets } from '../secrets/attribution-secrets.ts'
import type { MasterKeys } from '../secrets/master-keys.ts'
import { lockApp } from '../shared/room.ts'
import { judgeWaiting } from '../shared/waiting-receipts.ts'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { addSettings, newestSettings, settingsOf } from './attribution-settings.ts'
import { hasLinks, mustHaveStorePage } from './links.ts'
import { claimingStoreId, lockOwner, mustBeOnIos, mustFitStore, unownedStoreId } from './store-id.ts'
import { getCompany, makeSigningSecret, mustHaveIdShape } from './tenants.ts'

type Client = Pick<PoolClient, 'query'>

/** The apps of a company, oldest first. Throws `unknown_company`. */
export async function listApps(pool: Pool, company_id: string, now_ms: number): Promise<App[]> {
  await getCompany(pool, company_id)
  return readApps(pool, 'a.company_id = $1', company_id, now_ms)
}

/**
 * Changes what is given and nothing else; nothing given is nothing logged. Throws `invalid_field` for a change that takes
 * the store page from an app with links, for an id that its store cannot have, and for `development_keys` of an Android app;
 * `store_id_taken`.
 */
export function changeApp(pool: Pool, app_id: string, change: ChangeApp, request: AdminRequest): Promise<App> {
  mustHaveIdShape(app_id, 'unknown_app')
  const { name, bundle_id, store_id, provider_token, development_keys, valid_receipts_only, ...others } = change
  const { google_push_audience, google_push_email, ...settings } = others
  return inTransaction(pool, async (client) => {
    await lockApp(client, app_id)
    const was = await getApp(client, app_id, request.now_ms)
    await claimingStoreId(
      client.query(
        `UPDATE apps SET name = coalesce($2, name), bundle_id = coalesce($3, bundle_id),
           store_id = coalesce($4, store_id), owns_store_id = owns_store_id OR $4 IS NOT NULL,
           provider_token = coalesce($5, provider_token), development_keys = coalesce($6, development_keys),
           google_push_audience = nullif(coalesce($7, google_push_audience), ''),
           google_push_email = nullif(coalesce($8, google_push_email), ''),
           valid_receipts_only = coalesce($9, valid_receipts_only)
         WHERE app_id = $1`,
        [
          ...[app_id, name, bundle_id, store_id, provider_token, development_keys],
          ...[google_push_audience, google_push_email, valid_receipts_only],
        ],
      ),
    )
    if (bundle_id !== undefined) await judgeWaiting(client, app_id)
    const app = await getApp(client, app_id, request.now_ms)
    mustFitStore(app.platform, store_id)
    if (development_keys !== undefined) mustBeOnIos(app.platform, 'development_keys')
    if (await hasLinks(client, app_id)) mustHaveStorePage(app)
    await addSettings(client, app_id, app, settings, request.now_ms)
    const names = Object.keys(change) as (keyof ChangeApp)[]
    const before = Object.fromEntries(names.map((name) => [name, was[name]]))
    const entry = { action: 'app.set', subject: app_id, before, detail: change }
    if (names.length > 0) await recordAdminAction(client, request, entry)
    return getApp(client, app_id, request.now_ms)
  })
}

/** Any number does, as long as nobody else locks with it. */
const moves_lock = 7_361_204_158_015

/**
 * Moves a store id, with the postbacks of all time, to an app from the one that owns it. Throws `unknown_app`, and
 * `invalid_field` for an app that is not on iOS and for a store id that no app owns. The app that had it keeps it as its
 * store page if it has links; the id that the app itself had before is dropped, and the answer says so.
 */
export function moveStoreId(
  pool: Pool,
  app_id: string,
  store_id: string,
  request: AdminRequest,
): Promise<StoreIdMoved> {
  mustHaveIdShape(app_id, 'unknown_app')
  return inTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [moves_lock]) // moves that cross would wait for each other
    const { platform, store_id: dropped } = await getApp(client, app_id, request.now_ms)
    mustBeOnIos(platform, 'id')
    mustFitStore(platform, store_id)
    const former = await lockOwner(client, store_id)
    if (former === null) throw unownedStoreId()
    if (former === app_id) return getApp(client, app_id, request.now_ms)
    await client.query(
      'UPDATE apps SET owns_store_id = false, store_id = CASE WHEN $2 THEN store_id END WHERE app_id = $1',
      [former, await hasLinks(client, former)],
    )
    await claimingStoreId(
      client.query('UPDATE apps SET store_id = $2, owns_store_id = true WHERE app_id = $1', [app_id, store_id]),
    )
    const loss = dropped !== null && dropped !== '' && { dropped_store_id: dropped }
    const detail = { store_id, from: former, ...loss }
    await recordAdminAction(client, request, { action: 'app.move_store_id', subject: app_id, detail })
    return { ...(await getApp(client, app_id, request.now_ms)), ...loss }
  })
}

/**
 * Gives an app a new signing secret, which leaves in this answer only. The secret before it stays valid for `overlap_hours`,
 * those before that until their own ends; 0 ends them all (docs/decisions/secrets.md#old-signing-secrets-end-by-themselves). A link secret
 * or salt whose master key is lost is removed, see `removeLostSecrets`.
 */
export function rotateSigningSecret(
  pool: Pool,
  masterKeys: MasterKeys,
  app_id: string,
  overlap_hours: number,
  request: AdminRequest,
): Promise<SecretRotated> {
  mustHaveIdShape(app_id, 'unknown_app')
  const signing_secret = makeSigningSecret()
  return inTransaction(pool, async (client) => {
    // The second of two rotations at once waits here and keeps the secret of the first.
    const { rows } = await client.query<{ company_id: string }>(
      'SELECT company_id FROM apps WHERE app_id = $1 FOR UPDATE',
      [app_id],
    )
    if (rows[0] === undefined) throw new CodedError('unknown_app')
    const { company_id } = rows[0]
    await client.query(
      'DELETE FROM old_signing_secrets WHERE app_id = $1 AND ($2 OR ends_at <= to_timestamp($3 / 1000.0))',
      [app_id, overlap_hours === 0, request.now_ms],
    )
    if (overlap_hours > 0) await keepSecret(client, app_id, request.now_ms + overlap_hours * 3_600_000)
    await removeLostSecrets(client, masterKeys, { company_id, app_id })
    const binding = { purpose: 'signing_secret', company_id, app_id } as const
    const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(signing_secret, binding)
    await client.query(
      `UPDATE apps SET signing_secret_key_id = $2, signing_secret_iv = $3, signing_secret_ciphertext = $4,
         signing_secret_tag = $5 WHERE app_id = $1`,
      [app_id, key_id, iv, ciphertext, tag],
    )
    const app = await getApp(client, app_id, request.now_ms)
    if (app.old_secrets_end_ms.length > limits.old_secrets_max) throw tooManyOldSecrets(app)
    await recordAdminAction(client, request, {
      action: 'app.rotate_secret',
      subject: app_id,
      detail: { overlap_hours },
    })
    return { ...app, signing_secret }
  })
}

/** Copies the signing secret of today, encrypted as it is, among the old ones. */
async function keepSecret(client: Client, app_id: string, ends_at_ms: number): Promise<void> {
  await client.query(
    `INSERT INTO old_signing_secrets (app_id, ends_at, key_id, iv, ciphertext, tag)
     SELECT app_id, to_timestamp($2 / 1000.0), signing_secret_key_id, signing_secret_iv, signing_secret_ciphertext,
            signing_secret_tag
     FROM apps WHERE app_id = $1`,
    [app_id, ends_at_ms],
  )
}

function tooManyOldSecrets({ old_secrets_end_ms: [first_end_ms = 0] }: App): CodedError {
  const first_end = new Date(first_end_ms).toISOString()
  const message = `${limits.old_secrets_max} old secrets are valid; the first ends at ${first_end}. 0 ends them all now.`
  return new CodedError('invalid_field', { field: 'overlap_hours', message })
}

/** Throws `unknown_app`. */
export async function getApp(client: Client, app_id: string, now_ms: number): Promise<App> {
  mustHaveIdShape(app_id, 'unknown_app')
  const [app] = await readApps(client, 'a.app_id = $1', app_id, now_ms)
  if (app === undefined) throw new CodedError('unknown_app')
  return app
}

async function readApps(
  client: Client,
  condition: 'a.company_id = $1' | 'a.app_id = $1',
  id: string,
  now_ms: number,
): Promise<App[]> {
  const { rows } = await client.query(
    `SELECT a.app_id, a.company_id, a.app_key, a.name, a.platform, a.bundle_id, a.store_id, a.provider_token,
            a.owns_store_id, a.development_keys, a.google_push_audience, a.google_push_email, a.valid_receipts_only,
            EXISTS (SELECT 1 FROM apple_keys k WHERE k.app_id = a.app_id) AS has_apple_key,
            EXISTS (SELECT 1 FROM google_accounts g WHERE g.app_id = a.app_id) AS has_google_account,
            floor(extract(epoch FROM a.created_at) * 1000)::text AS created_at_ms,
            ARRAY(SELECT floor(extract(epoch FROM o.ends_at) * 1000)::text FROM old_signing_secrets o
                  WHERE o.app_id = a.app_id AND o.ends_at > to_timestamp($2 / 1000.0)
                  ORDER BY o.ends_at) AS old_secrets_end_ms,
            ${newestSettings} AS settings
     FROM apps a WHERE ${condition} ORDER BY a.created_at, a.app_id`,
    [id, now_ms],
  )
  return rows.map(({ settings, ...row }) => ({
    ...row,
    ...settingsOf(row.platform, settings),
    created_at_ms: Number(row.created_at_ms),
    old_secrets_end_ms: row.old_secrets_end_ms.map(Number),
  }))
}
