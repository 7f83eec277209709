import type { EncryptedText } from './master-keys.ts'

/** An encrypted text as JSON of PostgreSQL has it: bytes are hex. */
export interface EncryptedJson {
  key_id: string
  iv: string
  ciphertext: string
  tag: string
}

/** SQL that reads the encrypted columns of a table as `EncryptedJson`; null where an outer join found no row. */
export const encryptedJson = (alias: string): string =>
  `CASE WHEN ${alias}.key_id IS NOT NULL THEN json_build_object('key_id', ${alias}.key_id, 'iv', encode(${alias}.iv, 'hex'),
     'ciphertext', encode(${alias}.ciphertext, 'hex'), 'tag', encode(${alias}.tag, 'hex')) END`

export const readEncryptedJson = ({ key_id, iv, ciphertext, tag }: EncryptedJson): EncryptedText => ({
  key_id,
  iv: Buffer.from(iv, 'hex'),
  ciphertext: Buffer.from(ciphertext, 'hex'),
  tag: Buffer.from(tag, 'hex'),
})
