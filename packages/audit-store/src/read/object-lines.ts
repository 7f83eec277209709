import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'

const newline = 0x0a
/** Inflated at a time: each costs a way to the thread pool and back. */
const inflated_bytes = 128 * 1024
/** The largest body, and what stands around it. */
const line_bytes_max = limits.sdk_inflated_bytes_max + 64 * 1024

/** The lines of a `.jsonl.gz` object, one in memory at a time. Throws where the gzip or a line is none of the gateway's. */
export async function* objectLines(object: Buffer): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: inflated_bytes })
  Readable.from([object]).pipe(gunzip)
  let open: Buffer[] = []
  let bytes = 0
  for await (const chunk of gunzip as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = chunk.indexOf(newline); to !== -1; to = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...open, chunk.subarray(from, to)])
      open = []
      bytes = 0
      from = to + 1
    }
    open.push(chunk.subarray(from))
    bytes += chunk.length - from
    if (bytes > line_bytes_max) throw new RangeError('a line of an audit object is longer than any request')
  }
  if (bytes > 0) throw new RangeError('an audit object ends within a line')
}
