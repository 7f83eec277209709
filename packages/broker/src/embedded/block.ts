import { gunzipSync } from 'node:zlib'
import type { OutgoingRecord, PackedValue } from '../broker.ts'
import { createInflateInPlace } from '../gzip/inflate-in-place.ts'
import { valueBytes } from '../gzip/packed-value.ts'

/** Fixed part of a stored block: what can be known without looking at its records. */
export interface BlockHeader {
  timestamp_ms: number
  /** Bytes of all blocks of the partition before this one, deleted ones included: distances are differences. */
  bytes_before: number
  count: number
}

/** One record inside a block. */
export interface BlockRecord {
  key: string | null
  headers: Record<string, string>
  /** Stored size, header included. */
  bytes: number
  value_bytes: number
  /** A view of the block, or a value unpacked. */
  value(): Buffer
}

const version = 3
const header_bytes = 21
const record_header_bytes = 12
const no_key = 0xffffffff
/** This bit of a length says that the value is packed. Records are far smaller. */
const packed_flag = 0x80000000
const packed_header_bytes = 12

const storedBytes = (value: Buffer | PackedValue): number =>
  Buffer.isBuffer(value)
    ? value.length
    : packed_header_bytes + value.head.length + value.tail.length + value.gzip.length

/** Bytes that a record takes in a block. */
export const recordBytes = (record: OutgoingRecord): number =>
  record_header_bytes +
  storedBytes(record.value) +
  (record.key === null ? 0 : Buffer.byteLength(record.key)) +
  (record.headers === undefined ? 0 : Buffer.byteLength(JSON.stringify(record.headers)))

/**
 * Consecutive records of one partition as one stored value: `u8 version, f64 timestamp_ms, f64 bytes_before, u32 count`,
 * then per record `u32 value length, u32 key length (0xffffffff: null), u32 headers length, key, headers as JSON, value`. A packed
 * value has the highest bit of its length set and is `u32 inflated length, u32 head length, u32 tail length, head, tail, gzip`.
 * `bytes` is the sum of `recordBytes`: the values are copied once, into a buffer of exactly the right size.
 */
export function encodeBlock(
  records: readonly OutgoingRecord[],
  bytes: number,
  timestamp_ms: number,
  bytes_before: number,
): Buffer {
  // The block is outside Node's shared pool: the writer thread reads it by address while other code allocates.
  const block = Buffer.allocUnsafeSlow(header_bytes + bytes)
  block.writeUInt8(version, 0)
  block.writeDoubleLE(timestamp_ms, 1)
  block.writeDoubleLE(bytes_before, 9)
  block.writeUInt32LE(records.length, 17)
  let at = header_bytes
  for (const { key, headers, value } of records) {
    const text_at = at + record_header_bytes
    const key_bytes = key === null ? 0 : block.write(key, text_at)
    const headers_bytes = headers === undefined ? 0 : block.write(JSON.stringify(headers), text_at + key_bytes)
    const isWhole = Buffer.isBuffer(value)
    block.writeUInt32LE(isWhole ? value.length : packed_flag + storedBytes(value), at)
    block.writeUInt32LE(key === null ? no_key : key_bytes, at + 4)
    block.writeUInt32LE(headers_bytes, at + 8)
    at = text_at + key_bytes + headers_bytes
    at += isWhole ? value.copy(block, at) : writePacked(block, at, value)
  }
  return block
}

/** Gives how many bytes it wrote. */
function writePacked(block: Buffer, from: number, packed: PackedValue): number {
  let at = from
  for (const number of [packed.inflated_bytes, packed.head.length, packed.tail.length])
    at = block.writeUInt32LE(number, at)
  for (const part of [packed.head, packed.tail, packed.gzip]) at += part.copy(block, at)
  return at - from
}

function readPacked(stored: Buffer): PackedValue {
  const tail_at = packed_header_bytes + stored.readUInt32LE(4)
  const gzip_at = tail_at + stored.readUInt32LE(8)
  return {
    inflated_bytes: stored.readUInt32LE(0),
    head: stored.subarray(packed_header_bytes, tail_at),
    tail: stored.subarray(tail_at, gzip_at),
    gzip: stored.subarray(gzip_at),
  }
}

/** Header of a stored block. Throws when another version wrote it. */
export function decodeHeader(block: Buffer): BlockHeader {
  const found = block.readUInt8(0)
  if (found !== version) throw new Error(`log block of unknown version ${found}`)
  return {
    timestamp_ms: block.readDoubleLE(1),
    bytes_before: block.readDoubleLE(9),
    count: block.readUInt32LE(17),
  }
}

/** Bytes of the records of a block. */
export const blockBytes = (block: Buffer): number => block.length - header_bytes

/** The records of a stored block, in order. */
export function* decodeRecords(block: Buffer, unpack: (packed: PackedValue) => Buffer): Generator<BlockRecord> {
  let at = header_bytes
  while (at < block.length) {
    const length = block.readUInt32LE(at)
    const isPacked = length >= packed_flag
    const key_length = block.readUInt32LE(at + 4)
    const headers_bytes = block.readUInt32LE(at + 8)
    const key_bytes = key_length === no_key ? 0 : key_length
    const key_at = at + record_header_bytes
    const headers_at = key_at + key_bytes
    const value_at = headers_at + headers_bytes
    const end = value_at + (isPacked ? length - packed_flag : length)
    const stored = block.subarray(value_at, end)
    const packed = isPacked ? readPacked(stored) : null
    yield {
      key: key_length === no_key ? null : block.toString('utf8', key_at, headers_at),
      headers: headers_bytes === 0 ? {} : JSON.parse(block.toString('utf8', headers_at, value_at)),
      bytes: end - at,
      value_bytes: valueBytes(packed ?? stored),
      value: () => (packed === null ? stored : unpack(packed)),
    }
    at = end
  }
}

/** Unpacks one value after the other. One that is broken stays as it is stored: its consumer makes a dead letter of it. */
export function createUnpack(): (packed: PackedValue) => Buffer {
  const inflateInPlace = createInflateInPlace()
  return ({ head, gzip, tail }) => Buffer.concat([head, inflateInPlace(gzip) ?? gunzipOrAsStored(gzip), tail])
}

function gunzipOrAsStored(gzip: Buffer): Buffer {
  try {
    return gunzipSync(gzip)
  } catch {
    return gzip
  }
}
