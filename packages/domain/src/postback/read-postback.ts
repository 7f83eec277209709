import { isAscii, isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import { findMember } from '../accept/find-member.ts'
import { byte, skipSpace } from '../accept/scan-json.ts'

/** A postback that can be read. Nothing about it is verified. */
export interface ReadPostback {
  /** The body to the letter. */
  text: string
  /** Key of its record (contracts/src/postback/received.ts): hex. */
  key: string
}

/**
 * Reads a body (docs/rules.md#postbacks): any JSON object for SKAN; any JWS of three parts for AAK, bare or as `jws-string`
 * of a JSON object. Throws `bad_json` and `bad_jws`. Neither `Content-Type` nor `Content-Encoding` counts.
 */
export function readPostback(protocol: PostbackProtocol, body: Buffer): ReadPostback {
  const claimed = protocol === 'skan' ? readMember(body, 'transaction-id') : readAak(body)
  const text = body.toString('utf8')
  const id = claimed ? `id\0${claimed}` : `body\0${text}`
  return { text, key: hash('sha256', `${protocol}\0${id}`) }
}

/** The id that the payload of the JWS claims. */
function readAak(body: Buffer): string | undefined | null {
  const isJson = body[skipSpace(body, 0)] === byte.open_object
  const jws = isJson ? readMember(body, 'jws-string') : isAscii(body) ? body.toString('latin1').trim() : ''
  if (jws === undefined || !jwsShape.test(jws)) {
    throw new CodedError('bad_jws', { message: 'The body holds no JWS of three parts.' })
  }
  const [, payload = ''] = jws.split('.', 2)
  return findMember(Buffer.from(payload, 'base64url'), 'postback-identifier')
}

/** JWS compact serialization (RFC 7515 7.1). The signature of an unsecured one is empty: it is read, and judged invalid. */
export const jwsShape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/

function readMember(body: Buffer, name: string): string | undefined {
  if (!isUtf8(body)) throw new CodedError('bad_json', { message: 'The body is not valid UTF-8.' })
  const value = findMember(body, name)
  if (value === null) throw new CodedError('bad_json', { message: 'The body is not a JSON object.' })
  return value
}
