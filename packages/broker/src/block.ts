import type { OutgoingRecord } from './broker.ts'

/** Fixed part of a stored block: what can be known without looking at its records. */
export interface BlockHeader {
  timestamp_ms: number
  /** Bytes of all blocks of the partition before this one, deleted ones included: distances are differences. */
  bytes_before: number
  count: number
}

/** One record inside a block; `value` is a view of the block, not a copy. */
export interface BlockRecord {
  key: string | null
  value: Buffer
  headers: Record<string, string>
  /** Stored size, header included. */
  bytes: number
}

const version = 1
const header_bytes = 21
const record_header_bytes = 12
const no_key = 0xffffffff

/** Bytes that a record takes in a block. */
export const recordBytes = (record: OutgoingRecord): number =>
  record_header_bytes +
  record.value.length +
  (record.key === null ? 0 : Buffer.byteLength(record.key)) +
  (record.headers === undefined ? 0 : Buffer.byteLength(JSON.stringify(record.headers)))

/**
 * Consecutive records of one partition as one stored value: `u8 version, f64 timestamp_ms, f64 bytes_before, u32 count`,
 * then per record `u32 value length, u32 key length (0xffffffff: null), u32 headers length, key, headers as JSON, value`.
 * `bytes` is the sum of `recordBytes`: the values are copied once, into a buffer of exactly the right size.
 */
export function encodeBlock(
  records: readonly OutgoingRecord[],
  bytes: number,
  timestamp_ms: number,
  bytes_before: number,
): Buffer {
  // Not from Node's shared pool: the writer thread reads it by address while other code allocates.
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
    block.writeUInt32LE(value.length, at)
    block.writeUInt32LE(key === null ? no_key : key_bytes, at + 4)
    block.writeUInt32LE(headers_bytes, at + 8)
    at = text_at + key_bytes + headers_bytes
    at += value.copy(block, at)
  }
  return block
}

/** Header of a stored block. Throws when another version wrote it. */
export function decodeHeader(block: Buffer): BlockHeader {
  if (block.readUInt8(0) !== version) throw new Error(`log block of unknown version ${block.readUInt8(0)}`)
  return {
    timestamp_ms: block.readDoubleLE(1),
    bytes_before: block.readDoubleLE(9),
    count: block.readUInt32LE(17),
  }
}

/** Bytes of the records of a block. */
export const blockBytes = (block: Buffer): number => block.length - header_bytes

/** The records of a stored block, in order. */
export function* decodeRecords(block: Buffer): Generator<BlockRecord> {
  let at = header_bytes
  while (at < block.length) {
    const value_bytes = block.readUInt32LE(at)
    const key_length = block.readUInt32LE(at + 4)
    const headers_bytes = block.readUInt32LE(at + 8)
    const key_bytes = key_length === no_key ? 0 : key_length
    const key_at = at + record_header_bytes
    const headers_at = key_at + key_bytes
    const value_at = headers_at + headers_bytes
    const end = value_at + value_bytes
    yield {
      key: key_length === no_key ? null : block.toString('utf8', key_at, headers_at),
      headers: headers_bytes === 0 ? {} : JSON.parse(block.toString('utf8', headers_at, value_at)),
      value: block.subarray(value_at, end),
      bytes: end - at,
    }
    at = end
  }
}
