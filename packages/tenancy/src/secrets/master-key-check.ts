import { inTransaction } from '@tributary/postgres/transaction'
import type { Pool, PoolClient } from 'pg'
import { type AdminRequest, recordAdminAction } from '../companies/admin-audit.ts'
import { type EncryptedText, type MasterKeys, masterKeyId, type SecretBinding } from './master-keys.ts'

interface CheckRow {
  bound_to: string
  key_id: string
  iv: Buffer
  ciphertext: Buffer
  tag: Buffer
}

/** Id of the master key that the secrets in PostgreSQL need; null while none was ever used. */
export async function findNeededMasterKey(pool: Pool): Promise<string | null> {
  const check = await readCheck(pool)
  return check === undefined ? null : masterKeyId(check.key_id)
}

/**
 * Whether these keys are the ones that the secrets in PostgreSQL need. The first process that ever checks decides for all
 * others: it stores an encrypted text, so that two processes with two keys can't both start.
 */
export async function isMasterKeyRight(pool: Pool, masterKeys: MasterKeys): Promise<boolean> {
  const check = (await readCheck(pool)) ?? (await keepCheck(pool, masterKeys))
  return canDecrypt(masterKeys, check, bindingOf(check))
}

function canDecrypt(masterKeys: MasterKeys, secret: EncryptedText, binding: SecretBinding): boolean {
  try {
    masterKeys.decrypt(secret, binding)
    return true
  } catch {
    return false
  }
}

/** Lets the next process decide again. Returns the id of the key that was right, null when there was none. */
export function forgetMasterKey(pool: Pool, request: AdminRequest): Promise<string | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ key_id: string }>('DELETE FROM master_key_check RETURNING key_id')
    const key_id = rows[0] === undefined ? null : masterKeyId(rows[0].key_id)
    if (key_id !== null) {
      await recordAdminAction(client, request, { action: 'master_key.forget', subject: key_id, detail: {} })
    }
    return key_id
  })
}

/** Makes the first key the right one. A process that has only an older key then refuses to start. */
export async function renewMasterKeyCheck(client: PoolClient, masterKeys: MasterKeys): Promise<void> {
  const check = await readCheck(client)
  const { key_id: current_id } = masterKeys
  if (check === undefined || check.key_id === current_id) return
  const binding = bindingOf(check)
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(masterKeys.decrypt(check, binding), binding)
  await client.query('UPDATE master_key_check SET key_id = $1, iv = $2, ciphertext = $3, tag = $4', [
    ...[key_id, iv, ciphertext, tag],
  ])
}

const bindingOf = ({ bound_to }: Pick<CheckRow, 'bound_to'>): SecretBinding => ({
  ...{ purpose: 'master_key_check', company_id: '', app_id: bound_to },
})

async function readCheck(client: Pick<Pool, 'query'>): Promise<CheckRow | undefined> {
  const { rows } = await client.query<CheckRow>('SELECT bound_to, key_id, iv, ciphertext, tag FROM master_key_check')
  return rows[0]
}

/** Two processes may be here at the same time: the row that was first counts for both. */
async function keepCheck(pool: Pool, masterKeys: MasterKeys): Promise<CheckRow> {
  const bound_to = 'master_key_check'
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt('right', bindingOf({ bound_to }))
  await pool.query(
    `INSERT INTO master_key_check (bound_to, key_id, iv, ciphertext, tag) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [bound_to, key_id, iv, ciphertext, tag],
  )
  const kept = await readCheck(pool)
  if (kept === undefined) throw new Error('The check of the master key was removed while it was made.')
  return kept
}
