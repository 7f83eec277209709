import { CodedError } from '@tributary/contracts/errors'
import type { PoolClient } from 'pg'
import type { EncryptedText, MasterKeys, SecretBinding } from '../../secrets/master-keys.ts'
import { makeRecoveryCodes, useRecoveryCode } from './recovery-codes.ts'
import { findStep, makeTotpSecret } from './totp.ts'

type Client = Pick<PoolClient, 'query'>
type SecretRow = EncryptedText & { last_step: string }

const bindingOf = (person_id: string): SecretBinding => ({
  purpose: 'totp_secret',
  company_id: '',
  app_id: '',
  person_id,
})

/** Makes a secret that counts once a code has confirmed it, in place of one that was offered before. */
export async function offerTotp(client: Client, masterKeys: MasterKeys, person_id: string): Promise<string> {
  const secret = makeTotpSecret()
  const { key_id, iv, ciphertext, tag } = masterKeys.encrypt(secret, bindingOf(person_id))
  await client.query(
    `INSERT INTO totp_offers (person_id, key_id, iv, ciphertext, tag, last_step) VALUES ($1, $2, $3, $4, $5, 0)
     ON CONFLICT (person_id) DO UPDATE SET key_id = $2, iv = $3, ciphertext = $4, tag = $5`,
    [person_id, key_id, iv, ciphertext, tag],
  )
  return secret
}

/** Puts an offered secret to use with its first code, and returns new recovery codes; null for a wrong code. */
export async function confirmTotp(
  client: Client,
  masterKeys: MasterKeys,
  { person_id, code, now_ms }: { person_id: string; code: string; now_ms: number },
): Promise<string[] | null> {
  const step = await stepOf(client, masterKeys, 'totp_offers', { person_id, code, now_ms })
  if (step === null) return null
  await client.query('DELETE FROM totp_secrets WHERE person_id = $1', [person_id])
  await client.query(
    `WITH confirmed AS (DELETE FROM totp_offers WHERE person_id = $1 RETURNING *)
     INSERT INTO totp_secrets (person_id, key_id, iv, ciphertext, tag, last_step)
     SELECT person_id, key_id, iv, ciphertext, tag, $2 FROM confirmed`,
    [person_id, step],
  )
  return makeRecoveryCodes(client, person_id)
}

/** Uses up a code of the authenticator, or a recovery code. In a transaction: the second of two at once waits here. */
export async function useCode(
  client: Client,
  masterKeys: MasterKeys,
  given: { person_id: string; code: string; now_ms: number },
): Promise<boolean> {
  const { person_id } = given
  const code = given.code.replaceAll(/\s/g, '') // as authenticators and the list of codes show them
  if (!/^\d{6}$/.test(code)) return useRecoveryCode(client, person_id, code)
  const step = await stepOf(client, masterKeys, 'totp_secrets', { ...given, code })
  if (step === null) return false
  await client.query('UPDATE totp_secrets SET last_step = $2 WHERE person_id = $1', [person_id, step])
  return true
}

async function stepOf(
  client: Client,
  masterKeys: MasterKeys,
  table: 'totp_secrets' | 'totp_offers',
  { person_id, code, now_ms }: { person_id: string; code: string; now_ms: number },
): Promise<number | null> {
  const { rows } = await client.query<SecretRow>(`SELECT * FROM ${table} WHERE person_id = $1 FOR UPDATE`, [person_id])
  if (rows[0] === undefined) return null
  return findStep(open(masterKeys, rows[0], person_id), code, { now_ms, last_step: Number(rows[0].last_step) })
}

function open(masterKeys: MasterKeys, row: SecretRow, person_id: string): string {
  try {
    return masterKeys.decrypt(row, bindingOf(person_id))
  } catch (cause) {
    const message = 'The secret of the authenticator cannot be decrypted. A recovery code still counts.'
    throw new CodedError('unavailable', { message, cause })
  }
}

/** Removes the second factor; false where there was none. */
export async function removeSecondFactor(client: Client, person_id: string): Promise<boolean> {
  const { rowCount } = await client.query('DELETE FROM totp_secrets WHERE person_id = $1', [person_id])
  await client.query('DELETE FROM totp_offers WHERE person_id = $1', [person_id])
  await client.query('DELETE FROM recovery_codes WHERE person_id = $1', [person_id])
  return rowCount === 1
}
