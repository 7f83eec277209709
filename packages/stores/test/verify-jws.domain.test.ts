import { createHmac, generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import {
  type AppleAuthority,
  appleTransaction,
  authorityOf,
  createAppleAuthority,
  headerOf,
  intermediate_mark,
  issue,
  leaf_mark,
  signJws,
} from '@tributary/testing/stores/apple-authority'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAppleRoots } from '../src/apple/apple-roots.ts'
import { verifyJws } from '../src/apple/verify-jws.ts'

const apple = createAppleAuthority()
const verify = verifyJws([apple.root.certificate])
const signed = apple.sign(appleTransaction())

test('a transaction that Apple signed is read, as often as it comes', async () => {
  for (const _ of [1, 2]) expect(await verify(signed)).toMatchObject({ transactionId: '2000000123456789' })
})

test('the pinned root is that of Apple, and trusts the certificates that Apple signs with today', async () => {
  const [root] = readAppleRoots()
  expect(root?.fingerprint256).toBe(
    '63:34:3A:BF:B8:9A:6A:03:EB:B5:7E:9B:3F:5F:A7:BE:7C:4F:5C:75:6F:30:17:B3:A8:C4:88:C3:65:3E:91:79',
  )
  const chain = readAppleRoots(join(import.meta.dirname, 'apple-signing-chain.pem')).concat(root!)
  const x5c = chain.map(({ raw }) => raw.toString('base64'))
  // Nobody but Apple can sign below it.
  expect(await verifyJws([root!])(apple.sign(appleTransaction(), { alg: 'ES256', x5c }))).toBe('bad_signature')
})

test('the root of receipts from before StoreKit 2 proves no transaction', async () => {
  const [leaf, intermediate] = readAppleRoots(join(import.meta.dirname, 'apple-receipt-chain.pem'))
  const root = readAppleRoots()[1]!
  const x5c = [leaf!, intermediate!, root].map(({ raw }) => raw.toString('base64'))
  const jws = apple.sign(appleTransaction({ signedDate: Date.parse('2016-07-23T06:21:11Z') }), { alg: 'ES256', x5c })
  expect(await verifyJws(readAppleRoots())(jws)).toBe('untrusted_chain')
})

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const [header = '', payload = '', signature = ''] = signed.split('.')
const other = createAppleAuthority()
const { root, intermediate, leaf } = apple
const unmarked = (mark: 'leaf' | 'intermediate'): AppleAuthority => {
  const own = issue({ name: 'I', issuer: root, ...(mark !== 'intermediate' && { mark: intermediate_mark }) })
  const end = issue({ name: 'L', issuer: own, is_ca: false, ...(mark !== 'leaf' && { mark: leaf_mark }) })
  return authorityOf(root, own, end)
}
const hmac = (key: string | Buffer) => {
  const text = `${encode({ ...headerOf(leaf, intermediate, root), alg: 'HS256' })}.${payload}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
const { publicKey } = leaf.certificate
const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey
/** A certificate that the leaf of Apple issued, though it may not. */
const grandchild = issue({ name: 'G', issuer: leaf, mark: leaf_mark, is_ca: false })

test.each([
  [
    'another payload below the signature',
    'bad_signature',
    `${header}.${encode(appleTransaction({ price: 1 }))}.${signature}`,
  ],
  ['a signature of zeros', 'bad_signature', `${header}.${payload}.${Buffer.alloc(64).toString('base64url')}`],
  ['no signature', 'bad_signature', `${header}.${payload}.`],
  [
    'the algorithm none',
    'bad_signature',
    `${encode({ ...headerOf(leaf, intermediate, root), alg: 'none' })}.${payload}.`,
  ],
  ['HS256 with the public key in PEM', 'bad_signature', hmac(publicKey.export({ format: 'pem', type: 'spki' }))],
  ['HS256 with the public key in DER', 'bad_signature', hmac(publicKey.export({ format: 'der', type: 'spki' }))],
  [
    'a signature of a stranger below the chain of Apple',
    'bad_signature',
    signJws(headerOf(leaf, intermediate, root), appleTransaction(), stranger),
  ],
  ['a chain with another root', 'untrusted_chain', other.sign(appleTransaction())],
  [
    'another chain that names the root of Apple',
    'untrusted_chain',
    other.sign(appleTransaction(), headerOf(other.leaf, other.intermediate, root)),
  ],
  [
    'the leaf of a stranger below the intermediate of Apple',
    'untrusted_chain',
    other.sign(appleTransaction(), headerOf(other.leaf, intermediate, root)),
  ],
  [
    'a leaf that the leaf of Apple issued',
    'untrusted_chain',
    signJws(headerOf(grandchild, leaf, intermediate), appleTransaction(), grandchild.key),
  ],
  ['a leaf without the mark of receipts', 'untrusted_chain', unmarked('leaf').sign(appleTransaction())],
  ['an intermediate without its mark', 'untrusted_chain', unmarked('intermediate').sign(appleTransaction())],
  ['a chain of two', 'untrusted_chain', apple.sign(appleTransaction(), headerOf(leaf, intermediate))],
  ['no chain', 'untrusted_chain', apple.sign(appleTransaction(), { alg: 'ES256' })],
  ['a chain of texts', 'untrusted_chain', apple.sign(appleTransaction(), { alg: 'ES256', x5c: ['a', 'b', 'c'] })],
  ['a chain that is no list', 'untrusted_chain', apple.sign(appleTransaction(), { alg: 'ES256', x5c: { length: 3 } })],
  ['a transaction of Xcode', 'wrong_environment', other.sign(appleTransaction({ environment: 'Xcode' }))],
  ['a transaction of local tests', 'wrong_environment', apple.sign(appleTransaction({ environment: 'LocalTesting' }))],
  ['a payload that is no transaction', 'malformed', apple.sign({ bundleId: 'com.example.run', signedDate: 1 })],
  ['a transaction without its date', 'malformed', apple.sign(appleTransaction({ signedDate: undefined }))],
  ['no JWS', 'malformed', 'receipt'],
  ['an empty text', 'malformed', ''],
  ['a header that is no JSON', 'malformed', `e30x.${payload}.${signature}`],
  ['33 KiB', 'malformed', 'a'.repeat(33 * 1024)],
])('%s is %s', async (_what, reason, jws) => {
  expect(await verifyJws([apple.root.certificate])(jws)).toBe(reason)
  await verify(signed)
  expect(await verify(jws)).toBe(reason)
})

test('certificates are judged on the date of the signature, however they stand today', async () => {
  const [from_ms, until_ms] = [Date.UTC(2025, 0, 1), Date.UTC(2025, 6, 1)]
  const expired = createAppleAuthority({ from_ms, until_ms })
  const judge = verifyJws([expired.root.certificate])
  const at = (signedDate: number) => judge(expired.sign(appleTransaction({ signedDate })))
  const minute_ms = 60_000
  expect(await at(until_ms + 2 * minute_ms)).toBe('expired_certificate') // before the chain is remembered
  expect(await at(Date.UTC(2025, 3, 1))).toMatchObject({ productId: 'coins_100' })
  expect(await at(until_ms + 2 * minute_ms)).toBe('expired_certificate') // and afterwards
  expect(await at(from_ms - 2 * minute_ms)).toBe('expired_certificate')
  expect(await at(until_ms)).toMatchObject({ productId: 'coins_100' })
})

test('no change of a byte and no cut lets a transaction through', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(signed.length - 1), fc.nat(63), async (at, letter) => {
      const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const changed = `${signed.slice(0, at)}${letters[letter]}${signed.slice(at + 1)}`
      const bytes = (jws: string) => jws.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
      const same = String(bytes(changed)) === String(bytes(signed)) // the last letter of a part has bits that nobody reads
      if (!same) expect(typeof (await verify(changed))).toBe('string')
      // A verifier that has seen the header says what a new one says.
      expect(await verify(changed)).toEqual(await verifyJws([apple.root.certificate])(changed))
      expect(typeof (await verify(signed.slice(0, at)))).toBe('string')
    }),
  )
})
