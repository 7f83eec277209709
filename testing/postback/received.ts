import { verify } from 'node:crypto'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import type { PostbackKeys } from '@tributary/domain/postback/keys'
import { type SkanVersion, signedOrder, signedText } from './apple-twin.ts'
import type { Fields } from './json.ts'

/** A postback as a gateway stored it. */
export type ReceivedPostback = Pick<PostbackReceived, 'protocol' | 'body' | 'received_at_ms'>

/** Content of a postback, read without code of the product. Absent and impossible values are undefined. */
export interface ReadPostback {
  verdict: 'valid' | 'invalid' | 'unverifiable'
  /** Environment of a valid postback. */
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

type Values = Record<string, unknown>

/** Parses with JSON.parse, which hands over the text of each number; undefined for other than an object. */
function parseObject(text: string): { fields: Values; has_doubles: boolean } | undefined {
  try {
    const revive = (_name: string, value: unknown, context?: { source: string }) =>
      typeof value === 'number' ? new Digits(context?.source ?? '') : value
    const fields = JSON.parse(text, revive as (name: string, value: unknown) => unknown)
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined
    const names = [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined)
    return { fields, has_doubles: Object.keys(fields).length < names.length }
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

function unsigned(fields: Values): Pick<ReadPostback, 'fine' | 'coarse'> {
  const fine = small(fields['conversion-value'], 63)
  const coarse = ['low', 'medium', 'high'].find((one) => one === fields['coarse-conversion-value'])
  return { ...(fine === undefined ? {} : { fine }), ...(coarse === undefined ? {} : { coarse }) }
}

function readSkan(body: string, keys: PostbackKeys): ReadPostback {
  const object = parseObject(body)
  if (object === undefined) return unreadable
  const { fields, has_doubles } = object
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
  if (has_doubles || version === undefined || !/^\d+\.\d+$/.test(version)) return { ...content, verdict: 'invalid' }
  if (!(version in signedOrder)) return { ...content, verdict: 'unverifiable' }
  const key = keys.skan.get(version)?.key
  const is_proven = key != null && areKinds(signs) && verify('sha256', signedBytes(version, fields), key, der(fields))
  return is_proven ? { ...content, verdict: 'valid', environment: 'production' } : { ...content, verdict: 'invalid' }
}

const signedBytes = (version: string, fields: object) =>
  Buffer.from(signedText(version as SkanVersion, fields as Fields))
const der = (fields: Values) => Buffer.from(text(fields['attribution-signature']) ?? '', 'base64')

/** Each value of the kind that Apple sends; one with a separator could be two. */
function areKinds(signs: Values): boolean {
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
  const outer = body.startsWith('{') ? parseObject(body) : { fields: { 'jws-string': body }, has_doubles: false }
  const [head = '', payload = '', signature = '', ...more] = (text(outer?.fields['jws-string']) ?? '').split('.')
  const header = parseObject(Buffer.from(head, 'base64url').toString())
  const signed = parseObject(Buffer.from(payload, 'base64url').toString())
  if (outer === undefined || header === undefined || signed === undefined || more.length > 0) return unreadable
  const { fields } = signed
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
    ...unsigned(outer.fields),
  }
  const { alg, kid, crit } = header.fields
  const has_doubles = [outer, header, signed].some((object) => object.has_doubles)
  const is_acceptable = !has_doubles && alg === 'ES256' && crit === undefined && text(kid) !== undefined
  if (!is_acceptable) return { ...content, verdict: 'invalid' }
  const known = keys.aak.get(String(kid))
  if (known === undefined) return { ...content, verdict: 'unverifiable' }
  const raw = { key: known.key, dsaEncoding: 'ieee-p1363' as const }
  const bytes = Buffer.from(signature, 'base64url')
  const is_proven = bytes.length === 64 && verify('sha256', Buffer.from(`${head}.${payload}`), raw, bytes)
  return is_proven
    ? { ...content, verdict: 'valid', environment: known.environment }
    : { ...content, verdict: 'invalid' }
}
