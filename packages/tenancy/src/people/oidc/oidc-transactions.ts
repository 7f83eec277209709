import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import type { Pool } from 'pg'
import { makeToken, tokenHash } from '../random-token.ts'

/** Why a browser is sent to the identity provider: to sign in, to link an identity to the account, to prove who is there. */
export type OidcPurpose = 'sign_in' | 'link' | 'confirm'

export interface OidcTransaction {
  purpose: OidcPurpose
  /** Null for a sign-in. */
  session_id: string | null
  began_at_ms: number
}

/** Notes that a browser leaves for the provider, and returns the token for its cookie. */
export async function beginTransaction(
  pool: Pool,
  purpose: OidcPurpose,
  session_id: string | null,
  now_ms: number,
): Promise<string> {
  const token = makeToken('oidc')
  await pool.query(
    `INSERT INTO oidc_transactions (transaction_hash, purpose, session_id, began_at)
     VALUES ($1, $2, $3, to_timestamp($4 / 1000.0))`,
    [tokenHash(token), purpose, session_id, now_ms],
  )
  return token
}

/** Uses a transaction up, whatever comes of it. Throws `oidc_failed` for one that is unknown, used or too old. */
export async function useTransaction(pool: Pool, token: string | null, now_ms: number): Promise<OidcTransaction> {
  const { rows } = await pool.query<OidcTransaction>(
    `DELETE FROM oidc_transactions WHERE transaction_hash = $1 AND began_at > to_timestamp($2 / 1000.0)
     RETURNING purpose, session_id, floor(extract(epoch FROM began_at) * 1000)::float8 AS began_at_ms`,
    [tokenHash(token ?? ''), now_ms - limits.oidc_ms_max],
  )
  if (rows[0] === undefined)
    throw new CodedError('oidc_failed', { message: 'No sign-in waits in this browser: begin again.' })
  return rows[0]
}
