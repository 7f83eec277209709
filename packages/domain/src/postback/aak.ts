import type { JudgedPostback } from '@tributary/contracts/postback/judged'
import { conversionTypes } from './conversion-types.ts'
import { type Fault, judged, type Proof } from './finding.ts'
import { findSignatureFault, type ReadJws, readJws, readKid } from './jws.ts'
import type { PostbackKeys } from './keys.ts'
import { type Member, type Members, type ReadObject, readObject } from './members.ts'
import { booleanOf, digitsOf, sequence_index_max, sequenceIndexOf, textOf, unsignedValues } from './values.ts'

/** Judges a postback of AdAttributionKit: a bare JWS, or Apple's JSON around one. */
export function judgeAak(body: string, keys: PostbackKeys): JudgedPostback {
  const envelope = readEnvelope(body)
  if ('code' in envelope) return judged('aak', {}, envelope)
  const jws = readJws(envelope.jws)
  if (jws === null) return judged('aak', {}, { code: 'bad_jws' })
  const content = { ...readContent(jws.payload), ...unsignedValues(envelope.members) }
  return judged('aak', content, envelope.has_doubles ? { code: 'duplicate_field' } : prove(jws, keys))
}

function prove(jws: ReadJws, keys: PostbackKeys): Proof | Fault {
  if (jws.has_doubles) return { code: 'duplicate_field' }
  const kid = readKid(jws.header)
  if (typeof kid !== 'string') return kid
  const known = keys.aak.get(kid)
  if (known === undefined) return { code: 'unknown_key' }
  const fault = findSignatureFault(jws, known.key) ?? findFault(jws.payload)
  return fault ?? { key: kid, environment: known.environment }
}

interface Envelope extends ReadObject {
  jws: string
}

/** The JWS, and the unsigned members beside it. */
function readEnvelope(body: string): Envelope | Fault {
  const text = body.trim()
  if (!text.startsWith('{')) return { jws: text, members: new Map(), has_doubles: false }
  const object = readObject(text)
  if (object === null) return { code: 'bad_json' }
  const field = 'jws-string'
  const member = object.members.get(field)
  if (member === undefined) return { code: 'missing_field', field }
  return member.type === 'string' ? { ...object, jws: member.text } : { code: 'wrong_type', field }
}

/** Kinds of the fields that are read, and whether Apple always sends them. */
const fields: Readonly<Record<string, { read: (member: Member) => unknown; always: boolean }>> = {
  'postback-identifier': { read: textOf, always: true },
  'ad-network-identifier': { read: textOf, always: true },
  'advertised-item-identifier': { read: (member) => digitsOf(member), always: true },
  'publisher-item-identifier': { read: (member) => digitsOf(member), always: false },
  'source-identifier': { read: textOf, always: false },
  'conversion-type': { read: textOf, always: false },
  'did-win': { read: booleanOf, always: false },
  'postback-sequence-index': { read: (member) => digitsOf(member, sequence_index_max), always: false },
}

/** A type that this release does not know could be anything: it must not count as an install. */
function findFault(payload: Members): Fault | undefined {
  for (const [field, { read, always }] of Object.entries(fields)) {
    const member = payload.get(field)
    if (member === undefined && always) return { code: 'missing_field', field }
    if (member !== undefined && read(member) === null) return { code: 'wrong_type', field }
  }
  const type = textOf(payload.get('conversion-type'))
  return type === null || conversionTypes.has(type) ? undefined : { code: 'unknown_conversion_type' }
}

const readContent = (payload: Members) => ({
  network: textOf(payload.get('ad-network-identifier')) ?? '',
  postback_id: textOf(payload.get('postback-identifier')) ?? '',
  sequence_index: sequenceIndexOf(payload.get('postback-sequence-index')),
  advertised_item_id: digitsOf(payload.get('advertised-item-identifier')) ?? '',
  publisher_item_id: digitsOf(payload.get('publisher-item-identifier')) ?? '',
  source: textOf(payload.get('source-identifier')) ?? '',
  did_win: booleanOf(payload.get('did-win')),
  ...conversionTypes.get(textOf(payload.get('conversion-type')) ?? ''),
})
