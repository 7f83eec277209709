import { createInflateInPlace } from '@tributary/broker/inflate-in-place'
import { gunzip_sync_bytes_max, isGzip, type ReadBodyOptions, readBody } from './read-body.ts'

export type WithBody = <T>(wire: Buffer, options: ReadBodyOptions, use: (body: Buffer) => T) => Promise<T>

/**
 * Uses a body as it was before `Content-Encoding`, with the errors of `readBody`. `use` must not keep the body: in the
 * common case its memory is that of the next one.
 */
export function createWithBody(): WithBody {
  const inflateInPlace = createInflateInPlace()
  return async (wire, options, use) => {
    const body = isGzip(options.encoding) && wire.length <= gunzip_sync_bytes_max ? inflateInPlace(wire) : null
    return body === null ? use(await readBody(wire, options)) : use(body)
  }
}
