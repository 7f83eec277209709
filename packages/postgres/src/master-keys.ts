import { createCipheriv, createDecipheriv, createHash, createSecretKey, randomBytes } from 'node:crypto'

export interface MasterKey {
  id: string
  /** 32 bytes. */
  key: Buffer
}

/** A text encrypted with AES-256-GCM, as the columns of a table hold it. */
export interface EncryptedText {
  key_id: string
  iv: Buffer
  ciphertext: Buffer
  tag: Buffer
}

export interface MasterKeys {
  /** Encrypts with the first key. `bound_to` (an id) must be given again to decrypt: a secret can't be moved to another row. */
  encrypt(text: string, bound_to: string): EncryptedText
  /** Throws when the key is not among the given ones or when anything was changed; the message holds no secret. */
  decrypt(encrypted: EncryptedText, bound_to: string): string
}

const algorithm = 'aes-256-gcm'

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
  return {
    encrypt(text, bound_to) {
      const iv = randomBytes(12)
      const cipher = createCipheriv(algorithm, secrets.get(current.id)!, iv).setAAD(Buffer.from(bound_to))
      const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return { key_id: current.id, iv, ciphertext, tag: cipher.getAuthTag() }
    },
    decrypt({ key_id, iv, ciphertext, tag }, bound_to) {
      const secret = secrets.get(key_id)
      if (secret === undefined) {
        const given = [...secrets.keys()].join(', ')
        throw new Error(`The secret of ${bound_to} needs master key ${key_id}; given: ${given}.`)
      }
      try {
        const decipher = createDecipheriv(algorithm, secret, iv, { authTagLength: 16 })
        decipher.setAAD(Buffer.from(bound_to)).setAuthTag(tag)
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw new Error(`The secret of ${bound_to} can't be decrypted with master key ${key_id}: it was changed.`)
      }
    },
  }
}
