import { isUtf8 } from 'node:buffer'
import { CodedError } from '@tributary/contracts/errors'

/** The JSON value of a body. Throws `bad_json` for broken UTF-8, a byte order mark, or no JSON. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new CodedError('bad_json', { message: 'The body is not valid UTF-8.' })
  try {
    return JSON.parse(body.toString('utf8')) // a byte order mark is no JSON white space, so it fails here too
  } catch {
    throw new CodedError('bad_json', { message: 'The body is not valid JSON.' })
  }
}
