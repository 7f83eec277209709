import { gunzipSync } from 'node:zlib'
import type { OutgoingRecord, PackedValue, WholeRecord } from './broker.ts'
import { createInflateInPlace } from './embedded/inflate-in-place.ts'

/** Bytes of the value itself. */
export const valueBytes = (value: Buffer | PackedValue): number =>
  Buffer.isBuffer(value) ? value.length : value.head.length + value.to - value.from + value.tail.length

/** Unpacks one value after the other; an engine for each would be garbage that only a full collection frees. */
export function createUnpack(): (packed: PackedValue) => Buffer {
  const inflateInPlace = createInflateInPlace()
  return (packed) => unpackValue(inflateInPlace(packed.gzip) ?? gunzipSync(packed.gzip), packed)
}

const unpackValue = (inflated: Buffer, { head, from, to, tail }: PackedValue): Buffer =>
  Buffer.concat([head, inflated.subarray(from, to), tail])

/** For a log that does not pack. */
export const unpackRecord = (record: OutgoingRecord): WholeRecord => ({
  ...record,
  value: Buffer.isBuffer(record.value) ? record.value : unpackValue(gunzipSync(record.value.gzip), record.value),
})
