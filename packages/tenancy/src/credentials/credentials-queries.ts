import type { KeyScope } from '@tributary/contracts/admin/server-keys'
import type { Platform } from '@tributary/contracts/envelope'
import type { Pool, QueryResultRow } from 'pg'
import { type EncryptedJson, encryptedJson, readEncryptedJson } from '../secrets/encrypted-json.ts'
import type { MasterKeys, SecretBinding } from '../secrets/master-keys.ts'
import type { AppCredential, CompanyCredential, OldSecret, ServerKeyCredential } from './credentials.ts'

type Status = 'active' | 'suspended'

interface AppRow {
  lookup_key: string
  app_id: string
  company_id: string
  platform: Platform
  signing_secret_key_id: string
  signing_secret_iv: Buffer
  signing_secret_ciphertext: Buffer
  signing_secret_tag: Buffer
  /** Null when there is none. */
  old_secrets: OldSecretRow[] | null
}

interface OldSecretRow {
  ends_at_ms: number
  secret: EncryptedJson
}

interface CompanyRow {
  lookup_key: string
  company_id: string
  status: Status
  /** bigint comes as text. */
  monthly_quota: string | null
}

interface ServerKeyRow {
  lookup_key: string
  key_id: string
  app_id: string
  company_id: string
  platform: Platform
  allowed_events: string[]
  scopes: KeyScope[]
  company_status: Status
  monthly_quota: string | null
}

/** The three queries of gateways, each for many keys at once, and how their rows become credentials. */
export function credentialsQueries(pool: Pool, masterKeys?: MasterKeys) {
  const byKey = <Row extends QueryResultRow & { lookup_key: string }>(name: string, text: string) => {
    return async (keys: readonly string[]): Promise<Map<string, Row>> => {
      const { rows } = await pool.query<Row>({ name, text, values: [keys] })
      return new Map(rows.map((row) => [row.lookup_key, row]))
    }
  }
  return {
    apps: byKey<AppRow>(
      'credentials_apps',
      `SELECT app_key AS lookup_key, app_id, company_id, platform, signing_secret_key_id, signing_secret_iv,
              signing_secret_ciphertext, signing_secret_tag,
              (SELECT json_agg(json_build_object('ends_at_ms', floor(extract(epoch FROM o.ends_at) * 1000),
                        'secret', ${encryptedJson('o')}))
               FROM old_signing_secrets o WHERE o.app_id = apps.app_id) AS old_secrets
       FROM apps WHERE app_key = ANY($1::text[])`,
    ),
    companies: byKey<CompanyRow>(
      'credentials_companies',
      `SELECT company_key AS lookup_key, company_id, status, monthly_quota
       FROM companies WHERE company_key = ANY($1::text[])`,
    ),
    /** Keys are lower-case hex of SHA-256. */
    serverKeys: byKey<ServerKeyRow>(
      'credentials_server_keys',
      `SELECT encode(k.key_sha256, 'hex') AS lookup_key, k.key_id, k.app_id, a.company_id, a.platform, k.allowed_events, k.scopes,
              c.status AS company_status, c.monthly_quota
       FROM server_keys k JOIN apps a USING (app_id) JOIN companies c USING (company_id)
       WHERE k.key_sha256 = ANY(SELECT decode(h, 'hex') FROM unnest($1::text[]) h) AND k.revoked_at IS NULL`,
    ),
    toApp(row: AppRow): AppCredential {
      const encrypted = {
        key_id: row.signing_secret_key_id,
        iv: row.signing_secret_iv,
        ciphertext: row.signing_secret_ciphertext,
        tag: row.signing_secret_tag,
      }
      const { app_id, company_id, platform } = row
      if (masterKeys === undefined) throw new Error('This service has no master key: it can use no signing secret.')
      const binding: SecretBinding = { purpose: 'signing_secret', company_id, app_id }
      const signing_secret = masterKeys.decrypt(encrypted, binding)
      const old_secrets = (row.old_secrets ?? []).flatMap((old) => decryptOld(masterKeys, old, binding))
      return { app_id, company_id, platform, signing_secret, old_secrets }
    },
    toCompany({ lookup_key, monthly_quota, ...row }: CompanyRow): CompanyCredential {
      return { ...row, monthly_quota: toNumber(monthly_quota) }
    },
    toServerKey({ lookup_key, monthly_quota, ...row }: ServerKeyRow): ServerKeyCredential {
      return { ...row, monthly_quota: toNumber(monthly_quota) }
    },
  }
}

/** None when its master key is lost: the app must go on with its new secret. */
function decryptOld(masterKeys: MasterKeys, { ends_at_ms, secret }: OldSecretRow, binding: SecretBinding): OldSecret[] {
  try {
    const signing_secret = masterKeys.decrypt(readEncryptedJson(secret), binding)
    return [{ signing_secret, ends_at_ms }]
  } catch {
    return []
  }
}

const toNumber = (bigint: string | null): number | null => (bigint === null ? null : Number(bigint))
