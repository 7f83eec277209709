import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeByReference } from '../../../src/kafka/private/encoder.ts'

interface Encoded {
  buffer: Buffer
  size(): number
}
interface Writing extends Encoded {
  writeBytes(bytes: Buffer): Writing
}
const require = createRequire(import.meta.url)
const produce = require('kafkajs/src/protocol/requests/produce/v7/request') as (options: object) => object
const Encoder = require('kafkajs/src/protocol/encoder') as new () => Writing
const createRequest = require('kafkajs/src/protocol/request') as (options: object) => Promise<Encoded>

const bytes = fc
  .tuple(fc.constantFrom(0, 1, 500, 507, 511, 1023, 1024, 1025, 4096, 20_000), fc.nat(255))
  .map(([length, byte]) => Buffer.alloc(length, byte))
const text = bytes.map((buffer) => 'k'.repeat(buffer.length))
const message = fc.record({
  key: fc.option(text),
  value: fc.option(bytes),
  headers: fc.dictionary(fc.constantFrom('a', 'reason'), text),
  timestamp: fc.constant('1000'),
})
const partition = fc.record({
  partition: fc.nat(11),
  messages: fc.array(message, { minLength: 1, maxLength: 3 }),
})
const topicData = fc.array(
  fc.record({ topic: fc.constantFrom('t', 'events.accepted.v1'), partitions: fc.array(partition, { maxLength: 2 }) }),
  { maxLength: 2 },
)

const sha256 = (buffer: Buffer): string => hash('sha256', buffer)

const encode = async (data: unknown) => {
  const request = produce({ acks: -1, timeout: 1, compression: 0, topicData: data })
  const encoded = await createRequest({ correlationId: 1, clientId: 'test', request })
  const [first, again] = [sha256(encoded.buffer), sha256(encoded.buffer)]
  return { size: encoded.size(), first, again }
}

test('requests that are put together by reference have the bytes that kafkajs gives them', async () => {
  const samples = fc.sample(topicData, 100)
  const expected = await Promise.all(samples.map(encode))
  encodeByReference()
  for (const [n, sample] of samples.entries()) expect(await encode(sample)).toEqual(expected[n])
})

test('an encoder goes on after its bytes were read', () => {
  encodeByReference()
  const large = Buffer.alloc(5000, 1)
  const first = new Encoder().writeBytes(large)
  const before = Buffer.from(first.buffer)
  const small = Buffer.from([0, 0, 0, 1, 7])
  expect(first.writeBytes(Buffer.from([7])).buffer.equals(Buffer.concat([before, small]))).toBe(true)
  const both = first.writeBytes(large)
  expect(both.buffer.equals(Buffer.concat([before, small, before]))).toBe(true)
  expect(both.size()).toBe(both.buffer.length)
})
