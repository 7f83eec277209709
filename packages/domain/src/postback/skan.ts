import { verify } from 'node:crypto'
import { sampleNetwork } from '@tributary/contracts/postback/apple-keys'
import { fidelity_type_max, type JudgedPostback } from '@tributary/contracts/postback/judged'
import { type Fault, judged, type Proof } from './finding.ts'
import type { PostbackKeys } from './keys.ts'
import { type Members, type ReadObject, readObject } from './members.ts'
import { readSigned, type SkanField, skanFields } from './skan-fields.ts'
import { booleanOf, digitsOf, sequenceIndexOf, textOf, unsignedValues } from './values.ts'

/** Judges a postback of SKAdNetwork 1.0 to 4.0. */
export function judgeSkan(body: string, keys: PostbackKeys): JudgedPostback {
  const object = readObject(body)
  if (object === null) return judged('skan', {}, { code: 'bad_json' })
  const version = readVersion(object.members)
  return judged('skan', readContent(object.members, version ?? ''), prove(object, version, keys))
}

function prove({ members, has_doubles }: ReadObject, version: string | null, keys: PostbackKeys): Proof | Fault {
  if (has_doubles) return { code: 'duplicate_field' }
  if (version === null) return { code: 'wrong_type', field: 'version' }
  const fields = skanFields.get(version)
  const known = keys.skan.get(version)
  if (fields === undefined || known === undefined) return { code: 'unknown_version' }
  const signed = readSigned(members, fields)
  if (typeof signed !== 'string') return signed
  const signature = readSignature(members)
  if (!Buffer.isBuffer(signature)) return signature
  const is_sample = textOf(members.get('ad-network-id')) === sampleNetwork
  if (is_sample && keys.sample === null) return { code: 'unknown_key' }
  const { name, key } = is_sample ? { name: 'test-key', key: keys.sample } : known
  if (key === null) return { code: 'unsupported_curve' }
  const is_proven = verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'der' }, signature)
  const environment = is_sample ? 'development' : 'production'
  return is_proven ? { key: name, environment } : { code: 'signature_mismatch' }
}

/** The version; a postback without one is 1.0. Null when the field holds no version. */
function readVersion(members: Members): string | null {
  const member = members.get('version')
  if (member === undefined) return '1.0'
  const version = textOf(member)
  return version !== null && /^\d{1,3}\.\d{1,3}$/.test(version) ? version : null
}

/** The content as the sender gives it. A field that the version does not sign is ignored; an unknown version is read like the newest. */
function readContent(members: Members, version: string) {
  const fields = skanFields.get(version) ?? skanFields.get('4.0')
  const get = (field: SkanField) => (fields?.includes(field) ? members.get(field) : undefined)
  const fidelity = digitsOf(get('fidelity-type'), fidelity_type_max)
  return {
    version,
    network: textOf(get('ad-network-id')) ?? '',
    postback_id: textOf(get('transaction-id')) ?? '',
    sequence_index: sequenceIndexOf(get('postback-sequence-index')),
    advertised_item_id: digitsOf(get('app-id')) ?? '',
    publisher_item_id: digitsOf(get('source-app-id')) ?? '',
    source: textOf(get('source-identifier')) ?? digitsOf(get('campaign-id')) ?? '',
    redownload: booleanOf(get('redownload')),
    did_win: booleanOf(get('did-win')),
    fidelity_type: fidelity === null ? null : Number(fidelity),
    ...unsignedValues(members),
  }
}

/** The signature as DER. Only one base64 spelling is accepted, so that a resend can't look different. */
function readSignature(members: Members): Buffer | Fault {
  const field = 'attribution-signature'
  const member = members.get(field)
  if (member === undefined) return { code: 'missing_field', field }
  const text = textOf(member)
  if (text === null) return { code: 'wrong_type', field }
  const der = Buffer.from(text, 'base64')
  const is_sequence = der.length > 2 && der[0] === 0x30 && der[1] === der.length - 2
  return is_sequence && der.toString('base64') === text ? der : { code: 'signature_encoding' }
}
