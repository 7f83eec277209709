import { gunzip, gunzipSync, type ZlibOptions } from 'node:zlib'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'

/** Above this many bytes on the wire gunzip moves to the thread pool; below, the hop costs more than the work. */
export const gunzip_sync_bytes_max = 64 * 1024

/** What gunzip allocates at a time, at most. */
const chunk_bytes_max = 128 * 1024

export interface ReadBodyOptions {
  /** `Content-Encoding` as it came. */
  encoding: string | undefined
  inflated_bytes_max: number
  /** The code of the surface for a body that inflates beyond the limit. */
  too_large: ErrorCode
}

export const isGzip = (encoding: string | undefined): boolean => encoding?.trim().toLowerCase() === 'gzip'

/**
 * The body as it was before `Content-Encoding`. Throws `unsupported_encoding`, `bad_gzip`, or `too_large`; a gzip bomb
 * ends at the limit, in memory too. Several gzip members are one body, bytes after the last are `bad_gzip`.
 */
export async function readBody(wire: Buffer, options: ReadBodyOptions): Promise<Buffer> {
  const encoding = options.encoding?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return wire
  if (!isGzip(encoding)) {
    throw new CodedError('unsupported_encoding', { message: 'Content-Encoding may be gzip or identity.' })
  }
  try {
    const maxOutputLength = options.inflated_bytes_max
    const { buffer, engine } = await inflate(wire, { maxOutputLength, chunkSize: guessBytes(wire), info: true })
    engine._outBuffer = null // or each body stays in memory until the next full collection, and brings it nearer
    // Node ignores zero bytes after a member, so what it has not read must be asked for.
    if (engine.bytesWritten !== wire.length) throw new Error('bytes after the last gzip member')
    return buffer
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new CodedError(options.too_large, { message: `At most ${options.inflated_bytes_max} bytes inflated.` })
    }
    throw new CodedError('bad_gzip', { cause })
  }
}

/** What gunzip gives with `info: true`, which its types leave out. A collection of young objects never takes an engine. */
interface Inflated {
  buffer: Buffer
  engine: { bytesWritten: number; _outBuffer: Buffer | null }
}

/** A gzip member ends with its inflated size; believed only as far as a wrong one costs nothing. */
function guessBytes(wire: Buffer): number {
  const claimed = wire.length < 18 ? 0 : wire.readUInt32LE(wire.length - 4)
  return Math.min(Math.max(claimed + 1, 1024), chunk_bytes_max)
}

function inflate(wire: Buffer, options: ZlibOptions): Inflated | Promise<Inflated> {
  if (wire.length <= gunzip_sync_bytes_max) return gunzipSync(wire, options) as unknown as Inflated
  return new Promise((resolve, reject) => {
    gunzip(wire, options, (error, inflated) => (error ? reject(error) : resolve(inflated as unknown as Inflated)))
  })
}
