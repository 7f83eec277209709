import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/broker.ts'
import {
  blockBytes,
  createUnpack,
  decodeHeader,
  decodeRecords,
  encodeBlock,
  recordBytes,
} from '../../src/embedded/block.ts'
import { unpackValue, valueBytes } from '../../src/gzip/packed-value.ts'

const place = { topic: 't', partition: 0 }
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array))
const key = fc.option(fc.string({ maxLength: 5 }))
const plain = fc
  .tuple(key, bytes, fc.option(fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }), { nil: undefined }))
  .map(([name, value, headers]): OutgoingRecord => ({ ...place, key: name, value, ...(headers && { headers }) }))
const packed = fc.tuple(key, bytes, bytes, bytes).map(([name, head, inflated, tail]): OutgoingRecord => {
  const value = { head, gzip: gzipSync(inflated), inflated_bytes: inflated.length, tail }
  return { ...place, key: name, value }
})
const encode = (records: OutgoingRecord[]) =>
  encodeBlock(
    records,
    records.reduce((sum, record) => sum + recordBytes(record), 0),
    1234.5,
    77,
  )
const read = (block: Buffer) =>
  [...decodeRecords(block, createUnpack())].map((record) => ({ ...record, value: Buffer.from(record.value()) }))

test('a block gives back its records, packed or not, and their sizes', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(plain, packed), { minLength: 1, maxLength: 6 }), (records) => {
      const block = encode(records)
      expect(decodeHeader(block)).toEqual({ timestamp_ms: 1234.5, bytes_before: 77, count: records.length })
      const found = read(block)
      expect(found).toEqual(
        records.map((record) => ({
          ...{ key: record.key, headers: record.headers ?? {}, value: unpackValue(record.value) },
          ...{ bytes: recordBytes(record), value_bytes: valueBytes(record.value) },
        })),
      )
      expect(found.reduce((sum, record) => sum + record.bytes, 0)).toBe(blockBytes(block))
    }),
  )
})

test('blocks of another version are refused', () => {
  const block = encode([{ ...place, key: 'k', value: Buffer.from('v') }])
  for (const version of [0, 2, 4]) {
    block.writeUInt8(version, 0)
    expect(() => decodeHeader(block)).toThrow(`unknown version ${version}`)
  }
})
