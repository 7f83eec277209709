import { verify } from 'node:crypto'
import type { PostbackKeys } from '@tributary/domain/postback/keys'
import { type SkanVersion, signedOrder, signedText } from './apple-twin.ts'
import type { Fields } from './json.ts'

/** A postback as a gateway stored it. */
export interface ReceivedPostback {
  protocol: 'skan' | 'aak'
  body: string
  received_at_ms: number
}

/** Content of a postback, read without code of the product. Absent and impossible values are undefined. */
export interface ReadPostback {
  verdict: 'valid' | 'invalid' | 'unverifiable'
  /** Of a valid one. */
  environment?: 'production' | 'development'
  version: string
  network: string
  id: string
  index: number
  advertised: string
  publisher: string
  source: string
  type: 'install' | 'redownload' | 're-engagement'
  lost: boolean
  fine?: number
  coarse?: string
}

/** A number as its digits. */
class Digits {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
}

/** Parses with JSON.parse, which hands over the text of each number; undefined for other than an object without doubles. */
function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const revive = (_name: string, value: unknown, context?: { source: string }) =>
      typeof value === 'number' ? new Digits(context?.source ?? '') : value
    const value = JSON.parse(text, revive as (name: string, value: unknown) => unknown)
    const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined)
    const is_object = typeof value === 'object' && value !== null && !Array.isArray(value)
    return is_object && Object.keys(value).length === names.length ? value : undefined
  } catch {
    return undefined
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
const digits = (value: unknown, max = 2n ** 64n - 1n) =>
  value instanceof Digits && /^\d+$/.test(value.text) && BigInt(value.text) <= max ? value.text : undefined
const small = (value: unknown, max: number) => {
  const found = digits(value, BigInt(max))
  return found === undefined ? undefined : Number(found)
}
const boolean = (value: unknown) => (typeof value === 'boolean' ? value : undefined)

const nothing = { network: '', id: '', advertised: '', publisher: '', source: '', version: '', index: 0 } as const
const unreadable: ReadPostback = { ...nothing, verdict: 'invalid', type: 'install', lost: false }

/** Reads a postback, and verifies it with Node's primitives. Only flat JSON is read right. */
export const readReceived = ({ protocol, body }: ReceivedPostback, keys: PostbackKeys): ReadPostback =>
  protocol === 'skan' ? readSkan(body, keys) : readAak(body, keys)

function unsigned(fields: Record<string, unknown>): Pick<ReadPostback, 'fine' | 'coarse'> {
  const fine = small(fields['conversion-value'], 63)
  const coarse = ['low', 'medium', 'high'].find((one) => one === fields['coarse-conversion-value'])
  return { ...(fine === undefined ? {} : { fine }), ...(coarse === undefined ? {} : { coarse }) }
}

function readSkan(body: string, keys: PostbackKeys): ReadPostback {
  const fields = parseObject(body)
  if (fields === undefined) return unreadable
  const version = 'version' in fields ? text(fields.version) : '1.0'
  const order = (signedOrder[version as SkanVersion] ?? signedOrder['4.0']).split(' ')
  const signs = Object.fromEntries(order.map((name) => [name, fields[name]]))
  const content = {
    version: version ?? '',
    network: text(signs['ad-network-id']) ?? '',
    id: text(signs['transaction-id']) ?? '',
    index: small(signs['postback-sequence-index'], 2) ?? 0,
    advertised: digits(signs['app-id']) ?? '',
    publisher: digits(signs['source-app-id']) ?? '',
    source: text(signs['source-identifier']) ?? digits(signs['campaign-id']) ?? '',
    type: signs.redownload === true ? ('redownload' as const) : ('install' as const),
    lost: signs['did-win'] === false,
    ...unsigned(fields),
  }
  if (version === undefined || !/^\d+\.\d+$/.test(version)) return { ...content, verdict: 'invalid' }
  if (!(version in signedOrder)) return { ...content, verdict: 'unverifiable' }
  const key = keys.skan.get(version)?.key
  const is_proven = key != null && areKinds(signs) && verify('sha256', signedBytes(version, fields), key, der(fields))
  return is_proven ? { ...content, verdict: 'valid', environment: 'production' } : { ...content, verdict: 'invalid' }
}

const signedBytes = (version: string, fields: object) =>
  Buffer.from(signedText(version as SkanVersion, fields as Fields))
const der = (fields: Record<string, unknown>) => Buffer.from(text(fields['attribution-signature']) ?? '', 'base64')

/** Each value of the kind that Apple sends; one with a separator could be two. */
function areKinds(signs: Record<string, unknown>): boolean {
  const isKind = ([name, value]: [string, unknown]) => {
    if (value === undefined) return name === 'source-app-id' || name === 'source-domain'
    if (name === 'redownload' || name === 'did-win') return boolean(value) !== undefined
    if (/^(campaign-id|app-id|source-app-id)$/.test(name)) return digits(value) !== undefined
    if (name === 'fidelity-type') return small(value, 255) !== undefined
    if (name === 'postback-sequence-index') return small(value, 2) !== undefined
    return text(value)?.includes('\u2063') === false && !(name === 'source-domain' && /^\d*$/.test(String(value)))
  }
  return Object.entries(signs).every(isKind)
}

function readAak(body: string, keys: PostbackKeys): ReadPostback {
  const outer = body.startsWith('{') ? parseObject(body) : { 'jws-string': body }
  const [head = '', payload = '', signature = '', ...more] = (text(outer?.['jws-string']) ?? '').split('.')
  const header = parseObject(Buffer.from(head, 'base64url').toString())
  const fields = parseObject(Buffer.from(payload, 'base64url').toString())
  if (outer === undefined || header === undefined || fields === undefined || more.length > 0) return unreadable
  if (header.alg !== 'ES256' || 'crit' in header || text(header.kid) === undefined) return unreadable
  const type = fields['conversion-type'] === 'download' ? 'install' : fields['conversion-type']
  const content = {
    version: '',
    network: text(fields['ad-network-identifier']) ?? '',
    id: text(fields['postback-identifier']) ?? '',
    index: small(fields['postback-sequence-index'], 2) ?? 0,
    advertised: digits(fields['advertised-item-identifier']) ?? '',
    publisher: digits(fields['publisher-item-identifier']) ?? '',
    source: text(fields['source-identifier']) ?? '',
    type: (type ?? 'install') as ReadPostback['type'],
    lost: fields['did-win'] === false,
    ...unsigned(outer),
  }
  const known = keys.aak.get(String(header.kid))
  if (known === undefined) return { ...content, verdict: 'unverifiable' }
  const raw = { key: known.key, dsaEncoding: 'ieee-p1363' as const }
  const bytes = Buffer.from(signature, 'base64url')
  const is_proven = bytes.length === 64 && verify('sha256', Buffer.from(`${head}.${payload}`), raw, bytes)
  return is_proven
    ? { ...content, verdict: 'valid', environment: known.environment }
    : { ...content, verdict: 'invalid' }
}
