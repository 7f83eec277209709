import { byte, nowhere, skipColon, skipSpace, skipString, skipValue } from './scan-json.ts'

/**
 * The value of a member of a JSON object, as JSON.parse finds it (the last of equal names); undefined for an absent
 * one, and for one that is no string. Null when `json`, which is UTF-8, is not a JSON object. It makes no values of the
 * rest and does not recurse: JSON.parse takes six times as long for 30,000 nested levels.
 */
export function findMember(json: Buffer, name: string): string | undefined | null {
  let value: Buffer | undefined
  const ends = new Uint8Array(json.length >> 1) // no more can be open: each has an end of its own
  let at = skipSpace(json, 0)
  if (json[at] !== byte.open_object) return null
  at = skipSpace(json, at + 1)
  if (json[at] !== byte.close_object) {
    for (;;) {
      const key_end = skipString(json, at)
      const from = skipColon(json, key_end)
      const to = from === nowhere ? nowhere : skipNested(json, from, ends)
      if (to === nowhere) return null
      if (isNamed(json, at, key_end, name)) value = json.subarray(from, to)
      at = skipSpace(json, to)
      if (json[at] !== byte.comma) break
      at = skipSpace(json, at + 1)
    }
  }
  if (json[at] !== byte.close_object || skipSpace(json, at + 1) !== json.length) return null
  return value?.[0] === byte.quote ? textOf(value) : undefined
}

const textOf = (json: Buffer): string => JSON.parse(json.toString('utf8'))

/** Whether the key between two places is the name: as it is, or longer with escapes. */
function isNamed(json: Buffer, from: number, to: number, name: string): boolean {
  const more = to - from - 2 - name.length // two quotes
  if (more < 0) return false
  const key = json.subarray(from, to)
  return (more === 0 || key.includes(byte.backslash)) && textOf(key) === name
}

/** Position behind a value of any depth. `ends` is room for what ends each array and object that is open. */
function skipNested(json: Buffer, from: number, ends: Uint8Array): number {
  let depth = 0
  let at = from
  do {
    const c = json[at]!
    if (c === byte.open_array || c === byte.open_object) {
      const end = c === byte.open_array ? byte.close_array : byte.close_object
      at = skipSpace(json, at + 1)
      if (json[at] !== end) {
        if (depth === ends.length) return nowhere // not all of them can end
        ends[depth++] = end
        if (c === byte.open_object) at = skipColon(json, skipString(json, at))
        continue
      }
      at += 1
    } else at = skipValue(json, at, 0)
    // What ends with the value, up to the next value.
    while (at !== nowhere && depth > 0) {
      at = skipSpace(json, at)
      const end = ends[depth - 1]
      if (json[at] === byte.comma) {
        at = skipSpace(json, at + 1)
        if (end === byte.close_object) at = skipColon(json, skipString(json, at))
        break
      }
      if (json[at] !== end) return nowhere
      depth -= 1
      at += 1
    }
  } while (at !== nowhere && depth > 0)
  return at
}
