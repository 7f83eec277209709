import { gunzipSync } from 'node:zlib'
import type { PackedValue } from '../broker.ts'
import { createInflateInPlace } from './inflate-in-place.ts'

/** Bytes of the value as its readers get it. */
export const valueBytes = (value: Buffer | PackedValue): number =>
  Buffer.isBuffer(value) ? value.length : value.head.length + value.inflated_bytes + value.tail.length

/** The value as its readers get it. */
export const unpackValue = (value: Buffer | PackedValue): Buffer =>
  Buffer.isBuffer(value) ? value : Buffer.concat([value.head, gunzipSync(value.gzip), value.tail])

/**
 * Gunzips one file after the other; null for a broken one and for one that holds more than `bytes_max`. The result holds
 * until the next call. An engine for each file would be garbage that only a full collection frees.
 */
export function createGunzipBounded(): (gzip: Buffer, bytes_max: number) => Buffer | null {
  const inflateInPlace = createInflateInPlace()
  return (gzip, bytes_max) => {
    const inflated = inflateInPlace(gzip) ?? gunzipOrNull(gzip, bytes_max)
    return inflated !== null && inflated.length <= bytes_max ? inflated : null
  }
}

function gunzipOrNull(gzip: Buffer, maxOutputLength: number): Buffer | null {
  try {
    return gunzipSync(gzip, { maxOutputLength: Math.max(1, maxOutputLength) })
  } catch {
    return null
  }
}
