import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'

export interface MasterKey {
  id: string
  /** 32 bytes. */
  key: Buffer
}

/** A text encrypted with AES-256-GCM, as the columns of a table hold it. */
export interface EncryptedText {
  /** Format and id of the master key, `v2:1a2b3c4d`. */
  key_id: string
  iv: Buffer
  ciphertext: Buffer
  tag: Buffer
}

/** What a secret belongs to, the additional data of AES-256-GCM: moved to another row, a secret can't be decrypted. */
export interface SecretBinding {
  purpose:
    | 'signing_secret'
    | 'link_secret'
    | 'company_salt'
    | 'master_key_check'
    | 'totp_secret'
    | 'oidc_sign_in'
    | 'partner_secret'
    | 'apple_key'
    | 'google_account'
  /** Empty for a secret of a person. */
  company_id: string
  /** Empty for a secret of the company. */
  app_id: string
  person_id?: string
}

export interface MasterKeys {
  /** Encrypts with the first key. The same binding must be given again to decrypt. */
  encrypt(text: string, binding: SecretBinding): EncryptedText
  /** Throws when the key is not among the given ones or when anything was changed; the message holds no secret. */
  decrypt(encrypted: EncryptedText, binding: SecretBinding): string
  /** Whether the master key of a text with this `key_id` is given. */
  has(key_id: string): boolean
  /** Id of the key that encrypts. */
  current_id: string
  /** The `key_id` of texts that need no new encryption. */
  key_id: string
}

/** A secret that none of the given master keys decrypts. */
export class SecretUnreadableError extends Error {
  override name = 'SecretUnreadableError'
}

/** Whether an error, or its cause, is a `SecretUnreadableError`. A retry may fail for ever. */
export const isSecretUnreadable = (err: unknown): boolean =>
  err instanceof SecretUnreadableError || (err instanceof Error && err.cause instanceof SecretUnreadableError)

const algorithm = 'aes-256-gcm'
const format = 'v2:'

/** Id of the master key in an `EncryptedText`. */
export const masterKeyId = (key_id: string): string => key_id.replace(format, '')

const additionalData = ({ purpose, company_id, app_id, person_id }: SecretBinding): Buffer =>
  Buffer.from(JSON.stringify([purpose, company_id, app_id, ...(person_id === undefined ? [] : [person_id])]))

const ownerOf = ({ app_id, company_id, person_id }: SecretBinding): string => person_id ?? (app_id || company_id)

/** The key of `TRIBUTARY_MASTER_KEY`: 32 bytes in base64. Its id is the first 8 hex of its SHA-256. */
export function readMasterKey(base64: string): MasterKey {
  const key = Buffer.from(base64, 'base64')
  if (key.length !== 32) throw new Error('The master key must be 32 bytes in base64: openssl rand -base64 32')
  return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key }
}

/** Master keys for use: the first encrypts, all decrypt, so that a key can be rotated. */
export function openMasterKeys(keys: readonly MasterKey[]): MasterKeys {
  const current = keys[0]
  if (current === undefined) throw new Error('At least one master key is needed.')
  if (keys.some(({ key }) => key.length !== 32)) throw new Error('A master key must be 32 bytes.')
  // KeyObjects show nothing when they are logged.
  const secrets = new Map(keys.map(({ id, key }) => [id, createSecretKey(key)]))
  const key_id = format + current.id
  return {
    current_id: current.id,
    key_id,
    has: (needed) => secrets.has(masterKeyId(needed)),
    encrypt(text, binding) {
      const iv = randomBytes(12)
      const cipher = createCipheriv(algorithm, secrets.get(current.id)!, iv).setAAD(additionalData(binding))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return { key_id, iv, ciphertext, tag: cipher.getAuthTag() }
    },
    decrypt({ key_id, iv, ciphertext, tag }, binding) {
      const id = masterKeyId(key_id)
      const secret = secrets.get(id)
      if (secret === undefined) {
        const given = [...secrets.keys()].join(', ')
        throw new SecretUnreadableError(`The secret of ${ownerOf(binding)} needs master key ${id}; given: ${given}.`)
      }
      try {
        const decipher = createDecipheriv(algorithm, secret, iv, { authTagLength: 16 })
        decipher.setAAD(additionalData(binding)).setAuthTag(tag)
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw new SecretUnreadableError(
          `The secret of ${ownerOf(binding)} can't be decrypted with master key ${id}: it was changed.`,
        )
      }
    },
  }
}
