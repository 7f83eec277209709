import { hash, randomBytes } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { PoolClient } from 'pg'

type Client = Pick<PoolClient, 'query'>

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** 120 random bits in base32, in three groups: `JBSWY3DP-EHPK3PXP-JBSWY3DP`. */
const makeCode = (): string =>
  Array.from(randomBytes(24), (byte) => alphabet[byte % 32])
    .join('')
    .replaceAll(/.{8}(?=.)/g, '$&-')

/** Without a salt: a code has 120 random bits (OWASP ASVS 5.0, 6.5.2). Spaces, hyphens and small letters are one code. */
const hashOf = (person_id: string, code: string): Buffer =>
  hash('sha256', `${person_id} ${code.toUpperCase().replaceAll(/[^A-Z2-7]/g, '')}`, 'buffer')

/** Gives a person new codes in place of those before; they leave in this answer only. */
export async function makeRecoveryCodes(client: Client, person_id: string): Promise<string[]> {
  const codes = Array.from({ length: limits.recovery_codes }, makeCode)
  await client.query('DELETE FROM recovery_codes WHERE person_id = $1', [person_id])
  await client.query('INSERT INTO recovery_codes (person_id, code_hash) SELECT $1, unnest($2::bytea[])', [
    person_id,
    codes.map((code) => hashOf(person_id, code)),
  ])
  return codes
}

/** Uses up a code; false where there is none, or where it was used. */
export async function useRecoveryCode(client: Client, person_id: string, code: string): Promise<boolean> {
  const { rowCount } = await client.query('DELETE FROM recovery_codes WHERE person_id = $1 AND code_hash = $2', [
    person_id,
    hashOf(person_id, code),
  ])
  return rowCount === 1
}
