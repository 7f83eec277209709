import { gunzipSync, gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LogRecord, PackedValue } from '../../src/broker.ts'
import { unpackValue } from '../../src/gzip/packed-value.ts'
import { createUnpack, inflatedBytes, packRecord } from '../../src/kafka/kafka-packed.ts'

const unpack = createUnpack()
const bytes = fc.uint8Array({ maxLength: 3000 }).map((array) => Buffer.from(array))
const packed = fc
  .tuple(bytes, fc.array(bytes, { minLength: 1, maxLength: 2 }), bytes)
  .map(([head, members, tail]): PackedValue => {
    const gzip = Buffer.concat(members.map((member) => gzipSync(member)))
    return { head, gzip, inflated_bytes: Buffer.concat(members).length, tail }
  })
const store = (value: Buffer | PackedValue): LogRecord => {
  const whole = packRecord({ topic: 't', partition: 0, key: 'k', value, headers: { a: 'b' } })
  return { offset: 0, timestamp_ms: 1, ...whole, headers: whole.headers ?? {} }
}

test('a packed record is one gzip file to any reader, and comes back whole, without the headers of its encoding', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(packed, bytes), async (value) => {
      const stored = store(value)
      const [record] = await unpack([stored])
      expect(record!.value.equals(unpackValue(value))).toBe(true)
      expect(record!.headers).toEqual({ a: 'b' })
      expect(inflatedBytes(stored)).toBe(Math.max(stored.value.length, record!.value.length))
      if (!Buffer.isBuffer(value)) expect(gunzipSync(stored.value).equals(record!.value)).toBe(true)
    }),
  )
})

const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
const stranger = (value: Buffer, headers: Record<string, string>) => ({
  ...store(value),
  headers: { 'content-encoding': 'gzip', ...headers },
})

test('a record that is broken, or holds more than it says, stays as it is stored', async () => {
  const small = gzipSync('0123456789'.repeat(10))
  const wrong = [
    stranger(Buffer.from('no gzip'), { 'inflated-bytes': '7' }),
    stranger(small.subarray(0, -1), { 'inflated-bytes': '100' }),
    stranger(small, { 'inflated-bytes': '99' }),
    stranger(bomb, { 'inflated-bytes': '10' }),
    stranger(bomb, { 'inflated-bytes': String(64 * 1024 * 1024) }),
    stranger(bomb, {}),
  ]
  expect(await unpack(wrong)).toEqual(wrong)
})

test('a chunk is bounded by what its records may inflate to, whatever their headers say', () => {
  for (const said of ['', '-1', 'NaN', '1e99', 'many', String(limits.log_record_bytes_max + 1)]) {
    expect(inflatedBytes(stranger(bomb, { 'inflated-bytes': said }))).toBe(limits.log_record_bytes_max)
  }
  // A record that claims to hold nothing takes its own bytes all the same.
  expect(inflatedBytes(stranger(bomb, { 'inflated-bytes': '0' }))).toBe(bomb.length)
  expect(inflatedBytes(stranger(bomb, {}))).toBe(limits.log_record_bytes_max)
})
