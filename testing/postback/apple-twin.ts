import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { type AakKey, type PostbackKeys, postbackKeys, type SkanKey } from '@tributary/domain/postback/keys'
import { type Fields, type JsonValue, writeJson } from './json.ts'

/** Order of the signed fields, by version of SKAdNetwork. */
export const signedOrder = {
  '1.0': 'ad-network-id campaign-id app-id transaction-id',
  '2.0': 'version ad-network-id campaign-id app-id transaction-id redownload source-app-id',
  '2.1': 'version ad-network-id campaign-id app-id transaction-id redownload source-app-id',
  '2.2': 'version ad-network-id campaign-id app-id transaction-id redownload source-app-id fidelity-type',
  '3.0': 'version ad-network-id campaign-id app-id transaction-id redownload source-app-id fidelity-type did-win',
  '4.0':
    'version ad-network-id source-identifier app-id transaction-id redownload source-app-id source-domain fidelity-type did-win postback-sequence-index',
} as const
export type SkanVersion = keyof typeof signedOrder
export const skanVersions = Object.keys(signedOrder) as SkanVersion[]

/** Signs postbacks as Apple does, with keys of its own. */
export interface AppleTwin {
  /** The public keys, under Apple's names and versions. */
  keys: PostbackKeys
  /** Private keys, to sign otherwise than Apple does. */
  secrets: { p192: KeyObject; p256: KeyObject; development: KeyObject }
  /** Adds the signature of the version to the fields. */
  signSkan(version: SkanVersion, fields: Fields): Fields
  /** A JWS of the payload. `header` replaces Apple's, which names the production key. */
  signAak(payload: Fields, header?: Fields): string
}

export const production_kid = 'apple-cas-identifier/0'
export const development_kid = 'apple-development-identifier/1'

export function createAppleTwin(): AppleTwin {
  const p192 = generateKeyPairSync('ec', { namedCurve: 'prime192v1' })
  const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const development = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const pairOf = (version: SkanVersion) => (version < '2.1' ? p192 : p256)
  const nameOf = (version: SkanVersion) => (version < '2.1' ? 'skan-p192' : 'skan-p256')
  const skan = skanVersions.map((version): [string, SkanKey] => [
    version,
    { name: nameOf(version), key: pairOf(version).publicKey },
  ])
  const aak: [string, AakKey][] = [
    [production_kid, { environment: 'production', key: p256.publicKey }],
    [development_kid, { environment: 'development', key: development.publicKey }],
  ]
  return {
    keys: postbackKeys(new Map(skan), new Map(aak)),
    secrets: { p192: p192.privateKey, p256: p256.privateKey, development: development.privateKey },
    signSkan(version, fields) {
      const signature = sign('sha256', Buffer.from(signedText(version, fields)), pairOf(version).privateKey)
      return { ...fields, 'attribution-signature': signature.toString('base64') }
    },
    signAak(payload, header = { kid: production_kid, alg: 'ES256' }) {
      const key = header.kid === development_kid ? development : p256
      return signJws(writeJson(header), writeJson(payload), key.privateKey)
    },
  }
}

/** The text that Apple signs. */
export const signedText = (version: SkanVersion, fields: Fields): string =>
  signedOrder[version]
    .split(' ')
    .filter((name) => fields[name] !== undefined)
    .map((name) => String(fields[name]))
    .join('\u2063')

/** A JWS of any header and payload, signed by ES256. */
export function signJws(header: string, payload: string, key: KeyObject): string {
  const signed = `${base64url(header)}.${base64url(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

export const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** Fields of a winning SKAN postback as a device sends it, unsigned, with a transaction id of its own. */
export function skanFields(
  version: SkanVersion,
  changes: Readonly<Record<string, JsonValue | undefined>> = {},
): Fields {
  const all = {
    version,
    'ad-network-id': 'example123.skadnetwork',
    'campaign-id': 42,
    'source-identifier': '5239',
    'app-id': 525_463_029,
    'transaction-id': randomUUID(),
    redownload: false,
    'fidelity-type': 1,
    'did-win': true,
    'postback-sequence-index': 0,
  }
  const names = signedOrder[version].split(' ')
  const own = Object.entries(all).filter(([name]) => names.includes(name))
  return defined({ ...Object.fromEntries(own), 'conversion-value': 20, ...changes })
}

/** Payload of a winning AAK postback, with a postback identifier of its own. */
export const aakPayload = (changes: Readonly<Record<string, JsonValue | undefined>> = {}): Fields =>
  defined({
    'postback-identifier': randomUUID().toUpperCase(),
    'publisher-item-identifier': 11_073_802_775,
    'marketplace-identifier': 'com.apple.AppStore',
    'impression-type': 'app-impression',
    'ad-network-identifier': 'example123.adattributionkit',
    'did-win': true,
    'postback-sequence-index': 0,
    'conversion-type': 'download',
    'source-identifier': '1234',
    'advertised-item-identifier': 10_738_027_756,
    ...changes,
  })

const defined = (fields: Readonly<Record<string, JsonValue | undefined>>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields
