import { partnerSecretBinding } from '@tributary/tenancy/companies/partner-settings'
import { type EncryptedJson, encryptedJson, readEncryptedJson } from '@tributary/tenancy/secrets/encrypted-json'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'

/** Secrets that are remembered. A version of settings never changes its own. */
const kept_max = 10_000

/** Reads the secret of a version of settings; null if it has none. Throws `SecretUnreadableError` without its master key. */
export function partnerSecrets(pool: Pick<Pool, 'query'>, masterKeys: MasterKeys) {
  const kept = new Map<string, string | null>()
  return async (settings_id: string): Promise<string | null> => {
    const known = kept.get(settings_id)
    if (known !== undefined) return known
    const { rows } = await pool.query<{ app_id: string; company_id: string; secret: EncryptedJson }>(
      `SELECT app_id, company_id, ${encryptedJson('s')} AS secret FROM partner_secrets s JOIN apps USING (app_id)
       WHERE settings_id = $1`,
      [settings_id],
    )
    const row = rows[0]
    const secret =
      row === undefined ? null : masterKeys.decrypt(readEncryptedJson(row.secret), partnerSecretBinding(row))
    if (kept.size >= kept_max) kept.clear()
    kept.set(settings_id, secret)
    return secret
  }
}
