import { isAscii } from 'node:buffer'
import { hash } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import { isJsonObject } from '@tributary/domain/accept/accept-event'
import { parseJson } from '@tributary/service-kit/http/parse-json'

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
  const claimed = protocol === 'skan' ? readSkan(body) : readAak(body)
  const text = body.toString('utf8')
  const id = typeof claimed === 'string' && claimed !== '' ? `id\0${claimed}` : `body\0${text}`
  return { text, key: hash('sha256', `${protocol}\0${id}`) }
}

/** The transaction id that the postback claims. */
const readSkan = (body: Buffer): unknown => readObject(body)['transaction-id']

/** The postback id that the JWS claims; undefined where its payload says none. */
function readAak(body: Buffer): unknown {
  const jws = firstByte(body) === openBrace ? readObject(body)['jws-string'] : bareText(body)
  if (typeof jws !== 'string' || !jwsShape.test(jws)) {
    throw new CodedError('bad_jws', { message: 'The body holds no JWS of three parts.' })
  }
  const payload = Buffer.from(jws.split('.', 2)[1] ?? '', 'base64url').toString('utf8')
  try {
    return JSON.parse(payload)?.['postback-identifier']
  } catch {
    return undefined
  }
}

/** JWS compact serialization (RFC 7515 7.1). The signature of an unsecured one is empty: it is read, and judged invalid. */
const jwsShape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/

const bareText = (body: Buffer): string => (isAscii(body) ? body.toString('latin1').trim() : '')

const openBrace = 0x7b
/** Of JSON (RFC 8259 2). */
const white_space: readonly number[] = [0x20, 0x09, 0x0a, 0x0d]

const firstByte = (body: Buffer): number | undefined => body.find((byte) => !white_space.includes(byte))

function readObject(body: Buffer): Record<string, unknown> {
  // Looked at first: to parse an array of arrays takes long, and it is no postback.
  const value = firstByte(body) === openBrace ? parseJson(body) : null
  if (!isJsonObject(value)) throw new CodedError('bad_json', { message: 'The body is not a JSON object.' })
  return value
}
