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

/**
 * Reads the members of a JSON object (RFC 8259). A name that is there twice is a fault, because two readers could take
 * different values for it. Nesting deeper than `postback_depth_max` is `bad_json`.
 */
export function readMembers(text: string): Members | 'bad_json' | 'duplicate_field' {
  const json = Buffer.from(text)
  const members = new Map<string, Member>()
  let at = skipSpace(json, 0)
  if (json[at] !== byte.open_object) return 'bad_json'
  at = skipSpace(json, at + 1)
  if (json[at] === byte.close_object) return isEnd(json, at + 1) ? members : 'bad_json'
  let doubled = false
  for (;;) {
    const name_end = skipString(json, at)
    const begin = skipColon(json, name_end)
    const end = begin === nowhere ? nowhere : skipValue(json, begin, limits.postback_depth_max)
    if (end === nowhere) return 'bad_json'
    const name = parse(json, at, name_end) as string
    doubled ||= members.has(name)
    members.set(name, readMember(json, begin, end))
    at = skipSpace(json, end)
    if (json[at] === byte.close_object) break
    if (json[at] !== byte.comma) return 'bad_json'
    at = skipSpace(json, at + 1)
  }
  if (!isEnd(json, at + 1)) return 'bad_json'
  return doubled ? 'duplicate_field' : members
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
