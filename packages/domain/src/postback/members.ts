import { limits } from '@tributary/contracts/limits'
import { byte, nowhere, skipColon, skipSpace, skipString, skipValue } from '../accept/scan-json.ts'

/**
 * A value of a JSON object. A number is its text, because item ids exceed what a double holds; `nested` is an object or an
 * array.
 */
export type Member =
  | { type: 'string'; text: string }
  | { type: 'number'; text: string }
  | { type: 'boolean'; value: boolean }
  | { type: 'null' }
  | { type: 'nested' }

export type Members = ReadonlyMap<string, Member>

/** A JSON object. */
export interface ReadObject {
  /** The last one of equal names counts, as with JSON.parse. */
  members: Members
  /** Whether a name is there twice: two readers could then take different values for it. */
  has_doubles: boolean
}

/**
 * Reads the members of a JSON object (RFC 8259). Null for other text, for nesting deeper than `postback_depth_max`, and for
 * more than `postback_members_max` members.
 */
export function readObject(text: string): ReadObject | null {
  const json = Buffer.from(text)
  const members = new Map<string, Member>()
  let at = skipSpace(json, 0)
  if (json[at] !== byte.open_object) return null
  at = skipSpace(json, at + 1)
  if (json[at] === byte.close_object) return isEnd(json, at + 1) ? { members, has_doubles: false } : null
  for (let count = 1; count <= limits.postback_members_max; count += 1) {
    const name_end = skipString(json, at)
    const begin = skipColon(json, name_end)
    const end = begin === nowhere ? nowhere : skipValue(json, begin, limits.postback_depth_max)
    if (end === nowhere) return null
    members.set(parse(json, at, name_end) as string, readMember(json, begin, end))
    at = skipSpace(json, end)
    if (json[at] === byte.close_object)
      return isEnd(json, at + 1) ? { members, has_doubles: members.size < count } : null
    if (json[at] !== byte.comma) return null
    at = skipSpace(json, at + 1)
  }
  return null
}

const isEnd = (json: Uint8Array, at: number): boolean => skipSpace(json, at) === json.length

const parse = (json: Buffer, begin: number, end: number): unknown => JSON.parse(json.toString('utf8', begin, end))

function readMember(json: Buffer, begin: number, end: number): Member {
  switch (json[begin]) {
    case byte.quote:
      return { type: 'string', text: parse(json, begin, end) as string }
    case byte.open_object:
    case byte.open_array:
      return { type: 'nested' }
    case byte.t:
      return { type: 'boolean', value: true }
    case byte.f:
      return { type: 'boolean', value: false }
    case byte.n:
      return { type: 'null' }
    default:
      return { type: 'number', text: json.toString('latin1', begin, end) }
  }
}
