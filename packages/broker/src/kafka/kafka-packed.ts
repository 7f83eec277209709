import { setImmediate as nextTick } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import type { LogRecord, OutgoingRecord, WholeRecord } from '../broker.ts'
import { createGunzipBounded, valueBytes } from '../gzip/packed-value.ts'
import { storedMember } from '../gzip/stored-member.ts'

/** Headers of a record whose value is gzip; docs/consumers.md names them for readers in other languages. */
const encoding_header = 'content-encoding'
const bytes_header = 'inflated-bytes'

/** How long unpacking may block the event loop at a time. */
const slice_ms = 10

/** A record as Kafka stores it. A packed value becomes one gzip file of three members, which any language inflates. */
export function packRecord(record: OutgoingRecord): WholeRecord {
  const { value, headers } = record
  if (Buffer.isBuffer(value)) return { ...record, value }
  return {
    ...record,
    value: Buffer.concat([storedMember(value.head), value.gzip, storedMember(value.tail)]),
    headers: { ...headers, [encoding_header]: 'gzip', [bytes_header]: String(valueBytes(value)) },
  }
}

const isPacked = ({ headers }: LogRecord): boolean => headers[encoding_header] === 'gzip'

/**
 * Bytes that a stored record takes once it is unpacked, at most: what its header says, which unpacking goes by, and never
 * less than it takes as it is stored.
 */
export function inflatedBytes(record: LogRecord): number {
  if (!isPacked(record)) return record.value.length
  const header = record.headers[bytes_header] ?? ''
  const declared = /^\d{1,9}$/.test(header) ? Number(header) : limits.log_record_bytes_max
  return Math.max(record.value.length, Math.min(declared, limits.log_record_bytes_max))
}

/** A record whose value nobody needs, as readers get it. */
export function withoutValue(record: LogRecord): LogRecord {
  return { ...record, value: Buffer.alloc(0), headers: withoutEncoding(record.headers) }
}

function withoutEncoding({
  [encoding_header]: _encoding,
  [bytes_header]: _bytes,
  ...headers
}: LogRecord['headers']): LogRecord['headers'] {
  return headers
}

/** Unpacks the records of a chunk, in slices. One that is broken, or larger than it says, stays as it is stored. */
export function createUnpack(): (records: readonly LogRecord[]) => Promise<LogRecord[]> {
  const gunzip = createGunzipBounded()
  function unpack(record: LogRecord): LogRecord {
    const inflated = isPacked(record) ? gunzip(record.value, inflatedBytes(record)) : null
    if (inflated === null) return record
    return { ...record, value: Buffer.from(inflated), headers: withoutEncoding(record.headers) }
  }
  return async (records) => {
    const unpacked: LogRecord[] = []
    let until = performance.now() + slice_ms
    for (const record of records) {
      if (performance.now() > until) {
        await nextTick()
        until = performance.now() + slice_ms
      }
      unpacked.push(unpack(record))
    }
    return unpacked
  }
}
