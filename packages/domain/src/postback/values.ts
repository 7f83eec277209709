import { limits } from '@tributary/contracts/limits'
import {
  type CoarseValue,
  coarseValues,
  type SequenceIndex,
  sequenceIndexes,
} from '@tributary/contracts/postback/cv-schema'
import type { Member, Members } from './members.ts'

/*
 * Each function gives the value of a member, null when it is absent or none of that kind.
 */

/** Text that can be stored: well-formed, at most `postback_value_chars_max`. */
export function textOf(member: Member | undefined): string | null {
  if (member?.type !== 'string' || member.text.length > limits.postback_value_chars_max) return null
  return member.text.isWellFormed() ? member.text : null
}

const uint64_max = 2n ** 64n - 1n

/** Digits of a whole number from 0 to `max`, at most what 64 bits hold. `1.0`, `1e3` and `-0` do not count as one. */
export function digitsOf(member: Member | undefined, max: bigint | number = uint64_max): string | null {
  if (member?.type !== 'number' || !/^(0|[1-9]\d{0,19})$/.test(member.text)) return null
  return BigInt(member.text) <= BigInt(max) ? member.text : null
}

export const booleanOf = (member: Member | undefined): boolean | null =>
  member?.type === 'boolean' ? member.value : null

/** Largest sequence index. */
export const sequence_index_max = Math.max(...sequenceIndexes)

/** 0 when absent or impossible. */
export const sequenceIndexOf = (member: Member | undefined): SequenceIndex =>
  Number(digitsOf(member, sequence_index_max) ?? 0) as SequenceIndex

/** Values that Apple never signs: a sender who repeats a postback may change them. */
export interface UnsignedValues {
  fine: number | null
  coarse: CoarseValue | null
  country: string | null
}

/** An impossible value is null, never another value. */
export function unsignedValues(members: Members): UnsignedValues {
  const fine = digitsOf(members.get('conversion-value'), limits.cv_fine_value_max)
  const coarse = textOf(members.get('coarse-conversion-value'))
  const country = textOf(members.get('country-code'))
  return {
    fine: fine === null ? null : Number(fine),
    coarse: coarseValues.find((value) => value === coarse) ?? null,
    country: country !== null && /^[A-Z]{2}$/.test(country) ? country : null,
  }
}
