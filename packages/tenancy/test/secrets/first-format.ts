import { createCipheriv, randomBytes } from 'node:crypto'
import { type MasterKey, type MasterKeys, openMasterKeys } from '../../src/secrets/master-keys.ts'

/** Master keys as the first version of the product had them: what they encrypt is bound to the app alone. */
export const firstFormatKeys = (key: MasterKey): MasterKeys => ({
  ...openMasterKeys([key]),
  encrypt(text, { app_id }) {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key.key, iv).setAAD(Buffer.from(app_id))
    const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return { key_id: key.id, iv, ciphertext, tag: cipher.getAuthTag() }
  },
})
