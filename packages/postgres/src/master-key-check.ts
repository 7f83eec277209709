import type { Pool } from 'pg'
import { type AdminRequest, recordAdminAction } from './admin-audit.ts'
import type { MasterKeys } from './master-keys.ts'
import { inTransaction } from './transaction.ts'

interface CheckRow {
  bound_to: string
  key_id: string
  iv: Buffer
  ciphertext: Buffer
  tag: Buffer
}

/** Id of the master key that the secrets in PostgreSQL need; null while none was ever used. */
export async function findNeededMasterKey(pool: Pool): Promise<string | null> {
  return (await readCheck(pool))?.key_id ?? null
}

/**
 * Whether these keys are the ones that the secrets in PostgreSQL need. The first process that ever asks decides for all
 * others: an encrypted text is kept from then on, so that two processes with two keys can't both begin.
 */
export async function isMasterKeyRight(pool: Pool, masterKeys: MasterKeys): Promise<boolean> {
  const check = (await readCheck(pool)) ?? (await keepCheck(pool, masterKeys))
  return canDecrypt(masterKeys, check)
}

/** Apps whose signing secret none of these keys decrypts, by the id of the key that they need. */
export async function findUnreadableApps(pool: Pool, masterKeys: MasterKeys): Promise<Map<string, string[]>> {
  // One app of each key tells for all: a key that is given decrypts what was made with it.
  const { rows } = await pool.query<CheckRow & { app_ids: string[] }>(
    `SELECT DISTINCT ON (signing_secret_key_id) app_id AS bound_to, signing_secret_key_id AS key_id,
       signing_secret_iv AS iv, signing_secret_ciphertext AS ciphertext, signing_secret_tag AS tag,
       array_agg(app_id) OVER (PARTITION BY signing_secret_key_id) AS app_ids
     FROM apps ORDER BY signing_secret_key_id, app_id`,
  )
  const unreadable = rows.filter((row) => !canDecrypt(masterKeys, row))
  return new Map(unreadable.map(({ key_id, app_ids }) => [key_id, app_ids.toSorted()]))
}

function canDecrypt(masterKeys: MasterKeys, secret: CheckRow): boolean {
  try {
    masterKeys.decrypt(secret, secret.bound_to)
    return true
  } catch {
    return false
  }
}

/** Has the next process decide anew; gives back the id of the key that was right, null when none was. */
export function forgetMasterKey(pool: Pool, request: AdminRequest): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ key_id: string }>('DELETE FROM master_key_check RETURNING key_id')
    const key_id = rows[0]?.key_id ?? null
    if (key_id !== null) {
      await recordAdminAction(client, request, { action: 'master_key.forget', subject: key_id, detail: {} })
    }
    return key_id
  })
}

async function readCheck(pool: Pool): Promise<CheckRow | undefined> {
  const { rows } = await pool.query<CheckRow>('SELECT bound_to, key_id, iv, ciphertext, tag FROM master_key_check')
  return rows[0]
}

/** Two may be here at the same time: the row that was first is the answer for both. */
async function keepCheck(pool: Pool, masterKeys: MasterKeys): Promise<CheckRow> {
  const bound_to = 'master_key_check'
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt('right', bound_to)
  await pool.query(
    `INSERT INTO master_key_check (bound_to, key_id, iv, ciphertext, tag) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [bound_to, key_id, iv, ciphertext, tag],
  )
  const kept = await readCheck(pool)
  if (kept === undefined) throw new Error('The check of the master key was removed while it was made.')
  return kept
}
