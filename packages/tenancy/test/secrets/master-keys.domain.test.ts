import { describe, expect, test } from 'vitest'
import { openMasterKeys, readMasterKey, type SecretBinding } from '../../src/secrets/master-keys.ts'

const keyOf = (byte: number) => readMasterKey(Buffer.alloc(32, byte).toString('base64'))
const secret = 'c0ffee'.repeat(10)
const binding = { purpose: 'signing_secret', company_id: 'co_1', app_id: 'app_1' } as const

describe('a master key', () => {
  test('is 32 bytes in base64, named by the first 8 hex of its SHA-256', () => {
    // printf '\0%.0s' {1..32} | sha256sum
    expect(keyOf(0).id).toBe('66687aad')
  })

  test.each(['', 'short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'is not %j',
    (text) => {
      expect(() => readMasterKey(text)).toThrow('32 bytes in base64')
    },
  )

  test('is needed', () => {
    expect(() => openMasterKeys([])).toThrow('At least one master key')
  })
})

describe('an encrypted secret', () => {
  test('comes back whole, and never looks the same twice', () => {
    const keys = openMasterKeys([keyOf(1)])
    const [one, two] = [keys.encrypt(secret, binding), keys.encrypt(secret, binding)]
    expect(keys.decrypt(one, binding)).toBe(secret)
    expect(keys.decrypt(two, binding)).toBe(secret)
    expect(one.ciphertext.equals(two.ciphertext)).toBe(false)
  })

  test('outlives the rotation of the master key: the first encrypts, all decrypt', () => {
    const before = openMasterKeys([keyOf(1)]).encrypt(secret, binding)
    const rotated = openMasterKeys([keyOf(2), keyOf(1)])
    expect(rotated.decrypt(before, binding)).toBe(secret)
    expect(rotated.encrypt(secret, binding).key_id).toBe(`v2:${keyOf(2).id}`)
  })

  test('opens at its own binding only: not for another purpose, company or app', () => {
    const keys = openMasterKeys([keyOf(1)])
    const encrypted = keys.encrypt(secret, binding)
    const others: SecretBinding[] = [
      { ...binding, purpose: 'master_key_check' },
      { ...binding, company_id: 'co_2' },
      { ...binding, app_id: 'app_2' },
      { ...binding, company_id: 'co_1","app_1', app_id: '' },
    ]
    for (const other of others) expect(() => keys.decrypt(encrypted, other)).toThrow("can't be decrypted")
  })

  test('names the key that is missing, and shows no secret', () => {
    const before = openMasterKeys([keyOf(1)]).encrypt(secret, binding)
    const attempt = () => openMasterKeys([keyOf(2)]).decrypt(before, binding)
    expect(attempt).toThrow(`The secret of app_1 needs master key ${keyOf(1).id}; given: ${keyOf(2).id}.`)
  })

  test('is refused when it was changed or put into another row', () => {
    const keys = openMasterKeys([keyOf(1)])
    const encrypted = keys.encrypt(secret, binding)
    const flipped = (bytes: Buffer) => Buffer.from(bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte)))
    expect(() => keys.decrypt(encrypted, { ...binding, app_id: 'app_2' })).toThrow("can't be decrypted")
    for (const field of ['iv', 'ciphertext', 'tag'] as const) {
      const changed = { ...encrypted, [field]: flipped(encrypted[field]) }
      expect(() => keys.decrypt(changed, binding)).toThrow("can't be decrypted")
    }
    expect(() => keys.decrypt({ ...encrypted, tag: encrypted.tag.subarray(0, 4) }, binding)).toThrow(
      "can't be decrypted",
    )
  })
})
