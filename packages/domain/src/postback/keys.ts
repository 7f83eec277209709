import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { appleAakKeys, appleSkanKeys } from '@tributary/contracts/postback/apple-keys'
import type { PostbackEnvironment } from '@tributary/contracts/postback/judged'
import { conversionTypes } from './conversion-types.ts'
import { skanFields } from './skan-fields.ts'

/** A key of SKAN. `key` is null where this build of OpenSSL lacks the curve (a distribution may leave out P-192). */
export interface SkanKey {
  name: string
  key: KeyObject | null
}

/** A key of AdAttributionKit, of P-256. */
export interface AakKey {
  environment: PostbackEnvironment
  key: KeyObject
}

/** The public keys that postbacks are judged with. */
export interface PostbackKeys {
  /** Keys by version, `1.0` to `4.0`. */
  skan: ReadonlyMap<string, SkanKey>
  /** Keys by `kid`. */
  aak: ReadonlyMap<string, AakKey>
  /** The only key that proves postbacks of `sampleNetwork`; they are of the environment `development`. */
  sample: KeyObject | null
  /**
   * Changes when the judgement of a postback may change: by other keys, versions, types or curves. Equal in all
   * processes of a release.
   */
  fingerprint: string
}

/** Apple's keys (docs/rules.md#proof-of-postbacks), and a key of samples as base64 of SubjectPublicKeyInfo. */
export function applePostbackKeys(sample?: string): PostbackKeys {
  const skan = Object.entries(appleSkanKeys).flatMap(([name, { versions, spki }]) => {
    const key = readSpki(spki)
    return versions.map((version): [string, SkanKey] => [version, { name, key }])
  })
  const aak = Object.entries(appleAakKeys).flatMap(([kid, { environment, spki }]): [string, AakKey][] => {
    const key = readSpki(spki)
    return key === null ? [] : [[kid, { environment, key }]]
  })
  return postbackKeys(new Map(skan), new Map(aak), sample === undefined ? null : readSpki(sample))
}

/** Keys for `judgePostback` from the given ones. */
export function postbackKeys(
  skan: ReadonlyMap<string, SkanKey>,
  aak: ReadonlyMap<string, AakKey>,
  sample: KeyObject | null = null,
): PostbackKeys {
  const facts = [
    ['known', ...skanFields.keys(), ...conversionTypes.keys()],
    ...[...skan].map(([version, { name, key }]) => ['skan', version, name, key === null ? '' : spkiOf(key)]),
    ...[...aak].map(([kid, { environment, key }]) => ['aak', kid, environment, spkiOf(key)]),
    ...(sample === null ? [] : [['sample', spkiOf(sample)]]),
  ]
  const lines = facts.map((fact) => JSON.stringify(fact)).sort()
  return { skan, aak, sample, fingerprint: createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 32) }
}

/**
 * The keys together with those of a JWK set (RFC 7517), which count as production. A known `kid` keeps its key, so a
 * key set can't replace Apple's. Keys that are not for ES256 are left out, and so are keys beyond
 * `postback_set_keys_max`. Null when the document is no JWK set.
 */
export function withKeySet(keys: PostbackKeys, document: unknown): PostbackKeys | null {
  const set = (document as { keys?: unknown } | null)?.keys
  if (!Array.isArray(set)) return null
  const added = set.slice(0, limits.postback_set_keys_max).flatMap(readJwk)
  return postbackKeys(keys.skan, new Map([...added, ...keys.aak]), keys.sample)
}

function readJwk(jwk: unknown): [string, AakKey][] {
  const { kid, kty, crv, x, y, use = 'sig', alg = 'ES256' } = (jwk ?? {}) as Record<string, unknown>
  const is_ours = typeof kid === 'string' && kid.length <= limits.postback_value_chars_max && use === 'sig'
  if (!is_ours || kty !== 'EC' || crv !== 'P-256' || alg !== 'ES256') return []
  const key = tryKey(() => createPublicKey({ key: { kty, crv, x, y } as JsonWebKey, format: 'jwk' }))
  return key === null ? [] : [[kid, { environment: 'production', key }]]
}

const spkiOf = (key: KeyObject): string => key.export({ format: 'der', type: 'spki' }).toString('base64')

/** Null where OpenSSL does not know the curve, or the text is no key. */
const readSpki = (spki: string): KeyObject | null =>
  tryKey(() => createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' }))

function tryKey(create: () => KeyObject): KeyObject | null {
  try {
    return create()
  } catch {
    return null
  }
}
