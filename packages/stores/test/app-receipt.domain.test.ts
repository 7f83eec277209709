import { join } from 'node:path'
import {
  type AppleAuthority,
  authorityOf,
  createAppleAuthority,
  issue,
  leaf_mark,
} from '@tributary/testing/stores/apple-authority'
import { der, explicit, integer, objectId, octets, sequence } from '@tributary/testing/stores/der'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readAppReceipt } from '../src/apple/app-receipt.ts'
import { readAppleRoots } from '../src/apple/apple-roots.ts'

const apple = createAppleAuthority()
const read = readAppReceipt([apple.root.certificate])
const idsOf = (app_receipt: string): unknown => {
  const found = read(app_receipt)
  return typeof found === 'string' ? found : found.transaction_ids
}

test('the transactions of an app receipt are found in its order, with its app', () => {
  expect(idsOf(apple.appReceipt([]))).toBe('malformed')
  const receipt = apple.appReceipt(['1000000123', '33993399'])
  expect(read(receipt)).toEqual({ bundle_id: 'com.example.run', transaction_ids: ['1000000123', '33993399'] })
})

test('an id that could lead a request elsewhere is none', () => {
  expect(idsOf(apple.appReceipt(['../../v1/x', '', '12 3', '7']))).toEqual(['7'])
})

test('a number without bytes is no type of an attribute', () => {
  const strange = sequence(der(0x02, Buffer.alloc(0)), integer(1))
  expect(idsOf(apple.appReceipt(['7'], { more: [strange] }))).toEqual(['7'])
})

test.each(['sha1', 'sha256'] as const)('content and attributes that are signed with %s prove a receipt', (digest) => {
  for (const has_attributes of [false, true])
    expect(idsOf(apple.appReceipt(['7'], { digest, has_attributes }))).toEqual(['7'])
})

const stranger = createAppleAuthority()
const { root, intermediate, leaf } = apple
const short = (from_ms: number, until_ms: number) =>
  authorityOf(
    root,
    intermediate,
    issue({ name: 'L', issuer: intermediate, mark: leaf_mark, is_ca: false, from_ms, until_ms }),
  )
const day = (n: number) => Date.UTC(2026, 5, n)
const issuedBy = (issuer: AppleAuthority['root'], mark?: string) =>
  issue({ name: 'L', issuer, is_ca: false, ...(mark !== undefined && { mark }) })

test.each<[string, string, string]>([
  ['of a stranger', stranger.appReceipt(['7']), 'untrusted_chain'],
  ['without certificates', apple.appReceipt(['7'], { chain: [] }), 'untrusted_chain'],
  ['of a stranger beside those of Apple', apple.appReceipt(['7'], { key: stranger.leaf.key }), 'bad_signature'],
  ['signed by an issuer', apple.appReceipt(['7'], { key: intermediate.key }), 'bad_signature'],
  [
    'of a leaf without the mark',
    authorityOf(root, intermediate, issuedBy(intermediate)).appReceipt(['7']),
    'untrusted_chain',
  ],
  [
    'of a leaf that the root issued',
    authorityOf(root, intermediate, issuedBy(root, leaf_mark)).appReceipt(['7']),
    'untrusted_chain',
  ],
  [
    'of a leaf that a leaf issued',
    authorityOf(root, leaf, issuedBy(leaf, leaf_mark)).appReceipt(['7']),
    'untrusted_chain',
  ],
  ['of a leaf that was over', short(day(-60), day(0)).appReceipt(['7']), 'expired_certificate'],
  ['of a leaf that was not yet', short(day(2), day(60)).appReceipt(['7']), 'expired_certificate'],
  ['without a date', apple.appReceipt(['7'], { created: '' }), 'malformed'],
])('a receipt %s proves nothing', (_which, receipt, reason) => {
  expect(read(receipt)).toBe(reason)
})

test('a mark that stands around a certificate, and not in it, proves nothing', () => {
  // Apple issues such ones to every developer.
  const developer = issuedBy(intermediate)
  const pem = developer.certificate.toString()
  const mark = explicit(3, sequence(sequence(objectId(leaf_mark), octets(Buffer.alloc(2)))))
  const raw = sequence(sequence(mark), octets(Buffer.from(`\n${pem}\n`)))
  const smuggled = { certificate: { raw } as typeof developer.certificate, key: developer.key }
  expect(read(apple.appReceipt(['7'], { chain: [smuggled, intermediate, root], key: developer.key }))).toBe(
    'untrusted_chain',
  )
})

test('no byte of what is signed can be changed', () => {
  const receipt = Buffer.from(apple.appReceipt(['1000000123']), 'base64')
  const at = receipt.indexOf('1000000123')
  for (const offset of [0, 5, 9]) {
    const changed = Buffer.from(receipt)
    changed[at + offset] = 0x39
    expect(read(changed.toString('base64'))).toBe('bad_signature')
  }
})

test('the pinned roots are those of Apple, and trust certificates that Apple signed receipts with', () => {
  expect(readAppleRoots().map(({ fingerprint256 }) => fingerprint256.replaceAll(':', '').toLowerCase())).toEqual([
    '63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179',
    'b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024',
  ])
  const chain = readAppleRoots(join(import.meta.dirname, 'apple-receipt-chain.pem')).map((certificate) => ({
    ...{ certificate, key: apple.leaf.key },
  }))
  const pinned = readAppReceipt(readAppleRoots())
  // Nobody but Apple can sign below them.
  expect(pinned(apple.appReceipt(['7'], { chain, created: '2016-07-23T06:21:11Z' }))).toBe('bad_signature')
  expect(pinned(apple.appReceipt(['7'], { chain }))).toBe('expired_certificate')
  expect(pinned(apple.appReceipt(['7']))).toBe('untrusted_chain')
})

test('no text makes the reader throw, or proves a transaction', () => {
  const receipt = apple.appReceipt(['1000000123'])
  fc.assert(
    fc.property(fc.nat(receipt.length - 5), fc.base64String(), (at, text) => {
      expect(typeof read(receipt.slice(0, at))).toBe('string')
      expect(typeof read(text)).toBe('string')
      expect(() => read(`${receipt.slice(0, at)}${text}${receipt.slice(at)}`)).not.toThrow()
    }),
  )
})

test('32 KiB that were made to be slow are read in a moment', () => {
  const tiny = Array.from({ length: 4800 }, () => sequence(integer(3)))
  const many = apple.appReceipt(['7'], { chain: Array.from({ length: 50 }, () => stranger.intermediate) })
  let deep: Buffer = Buffer.alloc(0)
  for (let n = 0; n < 5000; n++) deep = der(0x30, deep)
  for (const receipt of [apple.appReceipt(['1'], { more: tiny }), many, deep.toString('base64')]) {
    expect(receipt.length).toBeGreaterThan(20_000)
    const before = process.cpuUsage()
    for (let n = 0; n < 10; n++) read(receipt)
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000) // Apple's library takes 13 s for one
  }
})
