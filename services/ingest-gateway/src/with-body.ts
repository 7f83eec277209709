import { createInflateInPlace } from './inflate-in-place.ts'
import { isGzip, type ReadBodyOptions, readBody } from './read-body.ts'

export type WithBody = <T>(wire: Buffer, options: ReadBodyOptions, use: (body: Buffer) => T) => Promise<T>

/** Bodies that go through without the thread pool; see `read-body.ts`. */
const in_place_bytes_max = 64 * 1024

/**
 * Uses a body as it was before `Content-Encoding`, with the errors of `readBody`. `use` must not keep the body: in the
 * common case its memory is that of the next one.
 */
export function createWithBody(): WithBody {
  const inflateInPlace = createInflateInPlace()
  return async (wire, options, use) => {
    const body = isGzip(options.encoding) && wire.length <= in_place_bytes_max ? inflateInPlace(wire) : null
    return body === null ? use(await readBody(wire, options)) : use(body)
  }
}
