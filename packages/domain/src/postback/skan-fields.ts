import { fidelity_type_max } from '@tributary/contracts/postback/judged'
import type { Fault } from './finding.ts'
import type { Member, Members } from './members.ts'
import { booleanOf, digitsOf, sequence_index_max, textOf } from './values.ts'

/** Gives a value as Apple signs it, null when the member holds no value of that kind. */
type SignedText = (member: Member) => string | null

const flag: SignedText = (member) => booleanOf(member)?.toString() ?? null
const integer: SignedText = (member) => digitsOf(member)

/** A domain of digits alone is refused: its signature would also fit the `source-app-id` in its place. */
const domain: SignedText = (member) => {
  const text = textOf(member)
  return text === null || /^\d*$/.test(text) ? null : text
}

const signedTexts = {
  version: textOf,
  'ad-network-id': textOf,
  'campaign-id': integer,
  'source-identifier': textOf,
  'app-id': integer,
  'transaction-id': textOf,
  redownload: flag,
  'source-app-id': integer,
  'source-domain': domain,
  'fidelity-type': (member) => digitsOf(member, fidelity_type_max),
  'did-win': flag,
  'postback-sequence-index': (member) => digitsOf(member, sequence_index_max),
} as const satisfies Record<string, SignedText>
export type SkanField = keyof typeof signedTexts

/**
 * All other fields must be there: otherwise a value could move into the place of its neighbour under the same
 * signature.
 */
const optional: readonly SkanField[] = ['source-app-id', 'source-domain']

const v1: readonly SkanField[] = ['ad-network-id', 'campaign-id', 'app-id', 'transaction-id']
const v2: readonly SkanField[] = ['version', ...v1, 'redownload', 'source-app-id']

/**
 * The fields that each version signs, in order. Source:
 * https://developer.apple.com/documentation/storekit/verifying-an-install-validation-postback and
 * https://developer.apple.com/documentation/storekit/combining-parameters-for-previous-skadnetwork-postback-versions
 */
export const skanFields: ReadonlyMap<string, readonly SkanField[]> = new Map([
  ['1.0', v1],
  ['2.0', v2],
  ['2.1', v2],
  ['2.2', [...v2, 'fidelity-type']],
  ['3.0', [...v2, 'fidelity-type', 'did-win']],
  [
    '4.0',
    [
      ...(['version', 'ad-network-id', 'source-identifier', 'app-id', 'transaction-id', 'redownload'] as const),
      ...(['source-app-id', 'source-domain', 'fidelity-type', 'did-win', 'postback-sequence-index'] as const),
    ],
  ],
])

const separator = '\u2063'

/** The text that Apple signs: the values in order, joined by U+2063, without absent optional ones. */
export function readSigned(members: Members, fields: readonly SkanField[]): string | Fault {
  const texts: string[] = []
  for (const field of fields) {
    const member = members.get(field)
    if (member === undefined) {
      if (optional.includes(field)) continue
      return { code: 'missing_field', field }
    }
    const text = signedTexts[field](member)
    if (text === null) return { code: 'wrong_type', field }
    if (text.includes(separator)) return { code: 'separator_in_value', field }
    texts.push(text)
  }
  return texts.join(separator)
}
