import type { App } from '@tributary/contracts/admin/apps'
import type { SetStoreCredentials } from '@tributary/contracts/admin/stores'
import type { Platform } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import { AppleKey, ServiceAccount } from '@tributary/contracts/receipt/store-credentials'
import { appleKeyFault, googleKeyFault } from '@tributary/domain/receipt/credential-faults'
import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { type EncryptedJson, encryptedJson, readEncryptedJson } from '../secrets/encrypted-json.ts'
import { isSecretUnreadable, type MasterKeys, type SecretBinding } from '../secrets/master-keys.ts'
import { lockApp } from '../shared/room.ts'
import { judgeWaiting } from '../shared/waiting-receipts.ts'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import { getApp } from './apps.ts'
import { mustHaveIdShape } from './tenants.ts'

interface Deps {
  pool: Pool
  masterKeys: MasterKeys
}

/** The credentials of an app; null where none are set, or their master key is not given. */
export interface StoreCredentials {
  company_id: string
  platform: Platform
  bundle_id: string | null
  apple: AppleKey | null
  google: ServiceAccount | null
}

const tables = { apple: 'apple_keys', google: 'google_accounts' } as const
const purposes = { apple: 'apple_key', google: 'google_account' } as const
type StoreName = keyof typeof tables

const bindingOf = (store: StoreName, { company_id, app_id }: Pick<App, 'company_id' | 'app_id'>): SecretBinding => ({
  ...{ purpose: purposes[store], company_id, app_id },
})

/** Replaces, keeps (absent) or takes away (null) the credentials at each store. Throws `unknown_app`, and `invalid_field` for a key of another kind. */
export function setStoreCredentials(
  { pool, masterKeys }: Deps,
  app_id: string,
  given: SetStoreCredentials,
  request: AdminRequest,
): Promise<App> {
  mustHaveIdShape(app_id, 'unknown_app')
  mustBeGood('apple.key', given.apple && appleKeyFault(given.apple.key))
  mustBeGood('google.private_key', given.google && googleKeyFault(given.google.private_key))
  return inTransaction(pool, async (client) => {
    await lockApp(client, app_id)
    const app = await getApp(client, app_id, request.now_ms)
    const changes = new Map<string, 'new' | 'removed'>()
    for (const store of ['apple', 'google'] as const) {
      const credentials = given[store]
      if (credentials === undefined) continue
      await put(client, masterKeys, store, app, credentials)
      changes.set(store, credentials === null ? 'removed' : 'new')
    }
    const action = { action: 'app.set_store_credentials', subject: app_id, detail: Object.fromEntries(changes) }
    if (changes.size > 0) await recordAdminAction(client, request, action)
    await judgeWaiting(client, app_id)
    return getApp(client, app_id, request.now_ms)
  })
}

function mustBeGood(field: string, message: string | null | undefined): void {
  if (message) throw new CodedError('invalid_field', { field, message })
}

async function put(
  client: PoolClient,
  masterKeys: MasterKeys,
  store: StoreName,
  app: App,
  credentials: AppleKey | ServiceAccount | null,
): Promise<void> {
  await client.query(`DELETE FROM ${tables[store]} WHERE app_id = $1`, [app.app_id])
  if (credentials === null) return
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(JSON.stringify(credentials), bindingOf(store, app))
  await client.query(`INSERT INTO ${tables[store]} (app_id, key_id, iv, ciphertext, tag) VALUES ($1, $2, $3, $4, $5)`, [
    app.app_id,
    key_id,
    iv,
    ciphertext,
    tag,
  ])
}

/** The credentials of an app, decrypted. Throws `unknown_app`. */
export async function readStoreCredentials({ pool, masterKeys }: Deps, app_id: string): Promise<StoreCredentials> {
  const { rows } = await pool.query<{
    company_id: string
    platform: Platform
    bundle_id: string | null
    apple: EncryptedJson | null
    google: EncryptedJson | null
  }>(
    `SELECT a.company_id, a.platform, nullif(a.bundle_id, '') AS bundle_id, ${encryptedJson('k')} AS apple,
            ${encryptedJson('g')} AS google
     FROM apps a LEFT JOIN apple_keys k USING (app_id) LEFT JOIN google_accounts g USING (app_id)
     WHERE a.app_id = $1`,
    [app_id],
  )
  const row = rows[0]
  if (row === undefined) throw new CodedError('unknown_app')
  const open = (store: StoreName) => {
    const secret = row[store]
    if (secret === null) return null
    try {
      const binding = bindingOf(store, { company_id: row.company_id, app_id })
      return JSON.parse(masterKeys.decrypt(readEncryptedJson(secret), binding)) as unknown
    } catch (err) {
      if (isSecretUnreadable(err)) return null
      throw err
    }
  }
  const [apple, google] = [open('apple'), open('google')]
  return {
    ...{ company_id: row.company_id, platform: row.platform },
    bundle_id: row.bundle_id,
    apple: apple === null ? null : AppleKey.parse(apple),
    google: google === null ? null : ServiceAccount.parse(google),
  }
}
