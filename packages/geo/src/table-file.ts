import { randomUUID } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzipSync } from 'node:zlib'
import type { Family } from './address.ts'
import type { TableKind } from './geo.ts'
import type { RangeTable } from './range-table.ts'

/** `countries-ipv4.gz` and so on. */
export const fileOf = (kind: TableKind, family: Family): string => `${kind}-ipv${family}.gz`

/** The tables that come with this version. */
export const packaged = new URL('../data/', import.meta.url)

/** The first bytes of a file, with the number of its version. */
const magic = 'TRIBGEO1'
/** Bytes of a start. The file holds the first bytes of all starts, then all second ones: these compress far better. */
const bytesOf = (family: Family): number => (family === 4 ? 4 : 8)
/** Inflated; far more than all networks of the world take. */
const file_bytes_max = 64 * 1024 * 1024

/** Reads a table. Rejects with ENOENT for a missing file, and with any error for one that is damaged. */
export async function readTable(folder: string | URL, kind: TableKind, family: Family): Promise<RangeTable> {
  const file = folder instanceof URL ? new URL(fileOf(kind, family), folder) : join(folder, fileOf(kind, family))
  const bytes = await promisify(gunzip)(await readFile(file), { maxOutputLength: file_bytes_max })
  return decode(family, bytes)
}

/** Puts a table into a folder, in one step: readers find the one before or the new one. */
export function writeTable(folder: string, kind: TableKind, family: Family, table: RangeTable): void {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, fileOf(kind, family))
  const draft = `${file}.${randomUUID()}`
  writeFileSync(draft, gzipSync(encode(family, table), { level: 9 }), { flush: true })
  renameSync(draft, file)
}

function encode(family: Family, { starts, values }: RangeTable): Buffer {
  const width = bytesOf(family)
  const count = values.length
  const bytes = Buffer.alloc(magic.length + count * (width + 2))
  bytes.write(magic, 'latin1')
  const planes = bytes.subarray(magic.length)
  for (let at = 0; at < count; at += 1) {
    let left = BigInt(starts[at]!)
    for (let plane = 0; plane < width; plane += 1) {
      planes[plane * count + at] = Number(left & 255n)
      left >>= 8n
    }
    planes.writeUInt16LE(values[at]!, count * width + at * 2)
  }
  return bytes
}

/** The memory of a table can be shared with threads. */
function decode(family: Family, bytes: Buffer): RangeTable {
  const width = bytesOf(family)
  const count = (bytes.length - magic.length) / (width + 2)
  if (bytes.toString('latin1', 0, magic.length) !== magic || !Number.isInteger(count))
    throw new Error('no address table')
  const planes = bytes.subarray(magic.length)
  // The halves of a 64-bit number, in the order of the machine's bytes, which are little-endian wherever Node runs.
  const halves = new Uint32Array(new SharedArrayBuffer(count * width))
  const halves_each = width / 4
  for (let plane = 0; plane < width; plane += 1) {
    const half = plane >>> 2
    const shift = (plane & 3) * 8
    const column = plane * count
    for (let at = 0; at < count; at += 1) halves[at * halves_each + half]! |= planes[column + at]! << shift
  }
  const values = new Uint16Array(new SharedArrayBuffer(count * 2))
  for (let at = 0; at < count; at += 1) values[at] = planes.readUInt16LE(count * width + at * 2)
  return { starts: family === 4 ? halves : new BigUint64Array(halves.buffer), values }
}
