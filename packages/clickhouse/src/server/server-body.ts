import { promisify } from 'node:util'
import { constants, zstdCompress } from 'node:zlib'

/** A smaller body fits a few packets: compressing it costs more than sending it. */
const plain_bytes_max = 16 * 1024
/** Level 1 shrinks event rows about tenfold at some 400 MB/s. */
const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compress = promisify(zstdCompress)

/** The rows of an insert as they are sent, and the header that says how. */
export async function compressRows(lines: Buffer | string): Promise<{ body: Buffer; headers: Record<string, string> }> {
  const plain = typeof lines === 'string' ? Buffer.from(lines) : lines
  if (plain.length <= plain_bytes_max) return { body: plain, headers: {} }
  return { body: await compress(plain, options), headers: { 'content-encoding': 'zstd' } }
}
