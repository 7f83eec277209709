import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { refuseCommonPassword } from '../../src/people/passwords/common-passwords.ts'
import { openPasswords } from '../../src/people/passwords/password-hash.ts'
import { findStep, makeTotpSecret } from '../../src/people/second-factor/totp.ts'

const passwords = openPasswords()

test('a password is checked in every spelling of its characters, and no other passes', async () => {
  const stored = await passwords.hash('Straße caf\u00e9 long', 'a')
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(await passwords.check('Straße cafe\u0301 long', stored, 'a')).toBe(true)
  for (const other of ['straße café long', 'Straße café lon', 'Straße café long ', ''])
    expect(await passwords.check(other, stored, 'a')).toBe(false)
  expect(await passwords.hash('Straße café long', 'a')).not.toBe(stored)
})

test('without an account no password passes, after as much work', async () => {
  expect(await passwords.check('anything at all', null, 'a')).toBe(false)
})

test('hashing leaves the event loop free', async () => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await Promise.all(Array.from({ length: 8 }, (_, n) => passwords.hash(`a password of ${n}`, `${n}`)))
  delay.disable()
  expect(delay.percentile(50) / 1e6).toBeLessThan(20)
})

test.each([
  'password1234',
  'PASSWORD1234',
  '123456789012',
  'sunshine!2026',
  'abcdabcdabcd',
  'ada@example.com',
  'iloveyouiloveyou',
  '!!qwertyuiop!!',
])('a common password is refused: %s', async (given) => {
  await expect(refuseCommonPassword(given, 'ada@example.com', 'password')).rejects.toMatchObject({
    code: 'invalid_field',
    field: 'password',
  })
})

test.each(['correct horse battery staple', 'tK9#vLq2!mZx', 'meine Katze mag Regen'])(
  'another is taken: %s',
  async (given) => {
    await refuseCommonPassword(given, 'ada@example.com', 'password')
  },
)

test('the codes are those of RFC 6238', () => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' // 12345678901234567890
  const at = (seconds: number, code: string, last_step = 0) =>
    findStep(secret, code, { now_ms: seconds * 1000, last_step })
  expect([at(59, '287082'), at(1111111109, '081804'), at(20000000000, '353130')]).toEqual([1, 37037036, 666666666])
  expect([at(59 + 30, '287082'), at(59 + 60, '287082'), at(59, '287083')]).toEqual([1, null, null])
  expect(at(59, '287082', 1)).toBeNull()
  expect(makeTotpSecret()).toMatch(/^[A-Z2-7]{32}$/)
})
