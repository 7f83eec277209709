import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32c, sumFaster } from '../../../src/kafka/private/crc32c.ts'

const require = createRequire(import.meta.url)
const sumOfKafkajs = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number

test('sums bytes as RFC 3720 and kafkajs do, whatever their number', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43)
  // Enough bytes to use every entry of the table many times.
  const large = createHash('shake256', { outputLength: 100_000 }).digest()
  expect(crc32c(large)).toBe(sumOfKafkajs(large))
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(9), (array, from) => {
      const bytes = Buffer.from(array).subarray(from)
      expect(crc32c(bytes)).toBe(sumOfKafkajs(bytes))
    }),
  )
})

test('is what kafkajs sums its record batches with', () => {
  sumFaster()
  expect(require('kafkajs/src/protocol/recordBatch/crc32C')).toBe(crc32c)
  // Loaded by the first request, so after the change.
  const batch = require('kafkajs/src/protocol/recordBatch/v0') as {
    RecordBatch(of: object): Promise<{ buffer: Buffer }>
  }
  return expect(batch.RecordBatch({ records: [], lastOffsetDelta: 0 }).then(sumIsRight)).resolves.toBe(true)
})

const sum_at = 8 + 4 + 4 + 1
const sumIsRight = ({ buffer }: { buffer: Buffer }) =>
  buffer.readUInt32BE(sum_at) === crc32c(buffer.subarray(sum_at + 4))
