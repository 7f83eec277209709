import { appReceipt } from '@tributary/testing/stores/apple-authority'
import { der, integer, sequence } from '@tributary/testing/stores/der'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { transactionIdsOf } from '../src/apple/app-receipt.ts'

test('the transactions of an app receipt are found in its order', () => {
  expect(transactionIdsOf(appReceipt([]))).toEqual([])
  expect(transactionIdsOf(appReceipt(['1000000123', '33993399']))).toEqual(['1000000123', '33993399'])
})

test('an id that could lead a request elsewhere is none', () => {
  expect(transactionIdsOf(appReceipt(['../../v1/x', '', '12 3', '7']))).toEqual(['7'])
})

test('a number without bytes is no type of an attribute', () => {
  const strange = sequence(der(0x02, Buffer.alloc(0)), integer(1))
  expect(transactionIdsOf(appReceipt(['7'], [strange]))).toEqual(['7'])
})

test('no text makes the reader throw, or invents a transaction', () => {
  const receipt = appReceipt(['1000000123'])
  fc.assert(
    fc.property(fc.nat(receipt.length - 1), fc.base64String(), (at, text) => {
      expect(transactionIdsOf(receipt.slice(0, at))).toEqual([])
      expect(transactionIdsOf(text)).toEqual([])
      expect(() => transactionIdsOf(`${receipt.slice(0, at)}${text}${receipt.slice(at)}`)).not.toThrow()
    }),
  )
})

test('32 KiB that were made to be slow are read in a moment', () => {
  const tiny = Array.from({ length: 4800 }, () => sequence(integer(3)))
  let deep: Buffer = Buffer.alloc(0)
  for (let n = 0; n < 5000; n++) deep = der(0x30, deep)
  for (const receipt of [appReceipt(['1'], tiny), deep.toString('base64')]) {
    expect(receipt.length).toBeGreaterThan(20_000)
    const before = process.cpuUsage()
    for (let n = 0; n < 10; n++) transactionIdsOf(receipt)
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000) // Apple's library takes 13 s for one
  }
})
