import { createHash } from 'node:crypto'
import { type DeviceIdKind, deviceHashes } from '@tributary/domain/attribute/device-ids'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const salt = Buffer.alloc(32, 2)
const kinds: DeviceIdKind[] = ['gaid', 'app_set_id', 'idfa', 'idfv']
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const zeros = '00000000-0000-0000-0000-000000000000'

const kind = fc.constantFrom(...kinds)
const id = fc.uuid().filter((uuid) => /[^0-]/.test(uuid))
const space = fc.constantFrom('', ' ', '\t', '\n')

test('a click and an install that tell the same id share its hash, in any spelling and hashed by whom it may be', () => {
  const isUpper = { gaid: false, app_set_id: false, idfa: true, idfv: true }
  fc.assert(
    fc.property(kind, id, space, space, (told, uuid, before, after) => {
      const cased = isUpper[told] ? uuid.toUpperCase() : uuid.toLowerCase()
      const [digest, ...more] = deviceHashes({ [told]: cased }, salt)
      expect(more).toEqual([])
      expect(digest).toMatch(/^[0-9a-f]{64}$/)
      for (const spelled of [uuid, uuid.toUpperCase(), sha256(cased), sha256(cased).toUpperCase()])
        expect(deviceHashes({ [told]: `${before}${spelled}${after}` }, salt)).toEqual([digest])
    }),
  )
})

test('two ids, two companies: two hashes', () => {
  fc.assert(
    fc.property(kind, id, id, (told, uuid, other) => {
      fc.pre(uuid.toLowerCase() !== other.toLowerCase())
      const [digest] = deviceHashes({ [told]: uuid }, salt)
      expect(deviceHashes({ [told]: other }, salt)).not.toEqual([digest])
      expect(deviceHashes({ [told]: uuid }, Buffer.alloc(32, 3))).not.toEqual([digest])
    }),
  )
})

test('the hash is an HMAC, so that nobody without the salt finds the id', () => {
  const idfv = 'E621E1F8-C36C-495A-93FC-0C247A3E6E5F'
  expect(deviceHashes({ idfv }, salt)).not.toContain(sha256(idfv))
})

test.each<[string, unknown]>([
  ['zeros', zeros],
  ['zeros without dashes', '0'.repeat(32)],
  ['zeros within space', ` ${zeros} `],
  ['64 zeros', '0'.repeat(64)],
  ['dashes', '---'],
  ['zeros that somebody hashed', sha256(zeros)],
  ['nothing that somebody hashed', sha256('').toUpperCase()],
  ['an empty text', ''],
  ['space', '  '],
  ['a number', 7],
  ['null', null],
  ['an object', { toString: 1 }],
  ['a list', ['abc']],
  ['a text of any length', 'a'.repeat(257)],
])('%s is no id', (_what, value) => {
  for (const told of kinds) expect(deviceHashes({ [told]: value }, salt)).toEqual([])
})

test('all ids of a device are told, each once', () => {
  expect(deviceHashes({ gaid: 'a', app_set_id: 'b', idfa: 'c', idfv: 'd' }, salt)).toHaveLength(4)
  expect(deviceHashes({ gaid: 'a', app_set_id: 'A' }, salt)).toHaveLength(1)
  expect(deviceHashes({ device_id: 'a', android_id: 'b' } as object, salt)).toEqual([])
})
