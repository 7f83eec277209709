import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { LRUCache } from 'lru-cache'
import type { EncryptedText, MasterKeys, SecretBinding } from '../../secrets/master-keys.ts'
import { makeToken, tokenHash } from '../random-token.ts'

/** Why a browser is sent to the identity provider: to sign in, to link an identity to the account, to prove who is there. */
export type OidcPurpose = 'sign_in' | 'link' | 'confirm'

export interface OidcTransaction {
  /** State, nonce and code verifier follow from it. */
  token: string
  purpose: OidcPurpose
  /** Null for a sign-in. */
  session_id: string | null
  began_at_ms: number
}

export interface OidcTransactions {
  /** Notes in the text for its cookie that a browser leaves for the provider. */
  begin(purpose: OidcPurpose, session_id: string | null): { token: string; cookie: string }
  /** Uses a transaction up, whatever comes of it. Throws `oidc_failed` for one that is unknown, used or too old. */
  use(cookie: string | null): OidcTransaction
}

interface Deps {
  masterKeys: Pick<MasterKeys, 'encrypt' | 'decrypt'>
  now: () => number
}

const binding: SecretBinding = { purpose: 'oidc_sign_in', company_id: '', app_id: '' }

/**
 * Transactions that only the cookies of browsers hold, encrypted: however many a stranger begins, nothing is stored, and nobody else is
 * refused. A process remembers those that were used last. Another one, or one that has forgotten, leaves it to the provider, which takes
 * a code once.
 */
export function openTransactions({ masterKeys, now }: Deps): OidcTransactions {
  const used = new LRUCache<string, true>({ max: limits.oidc_used_max })
  return {
    begin(purpose, session_id) {
      const token = makeToken('oidc')
      const transaction: OidcTransaction = { token, purpose, session_id, began_at_ms: now() }
      return { token, cookie: pack(masterKeys.encrypt(JSON.stringify(transaction), binding)) }
    },
    use(cookie) {
      const transaction = cookie === null ? null : read(masterKeys, cookie)
      const key = tokenHash(transaction?.token ?? '').toString('base64')
      if (transaction === null || used.has(key) || now() - transaction.began_at_ms >= limits.oidc_ms_max)
        throw new CodedError('oidc_failed', { message: 'No sign-in waits in this browser: begin again.' })
      used.set(key, true)
      return transaction
    },
  }
}

function read(masterKeys: Deps['masterKeys'], cookie: string): OidcTransaction | null {
  try {
    return JSON.parse(masterKeys.decrypt(unpack(cookie), binding)) as OidcTransaction
  } catch {
    return null
  }
}

const pack = ({ key_id, iv, tag, ciphertext }: EncryptedText): string =>
  [Buffer.from(key_id), iv, tag, ciphertext].map((part) => part.toString('base64url')).join('.')

function unpack(cookie: string): EncryptedText {
  const [key_id, iv, tag, ciphertext] = cookie.split('.', 4).map((part) => Buffer.from(part, 'base64url'))
  if (ciphertext === undefined) throw new Error('This is no cookie of a sign-in.')
  return { key_id: String(key_id), iv: iv!, tag: tag!, ciphertext }
}
