import { byte, nowhere, skipColon, skipSpace, skipString, skipValue } from '@tributary/domain/accept/scan-json'

/**
 * The value of a member of a JSON object, as JSON.parse finds it (the last of equal names); undefined for an absent one, and
 * for one that is no string. Null when `json`, which is UTF-8, is not a JSON object. It makes no values of the
 * rest: what is nested 30,000 times takes JSON.parse twenty times as long.
 */
export function findMember(json: Buffer, name: string): string | undefined | null {
  let value: Buffer | undefined
  let at = skipSpace(json, 0)
  if (json[at] !== byte.open_object) return null
  at = skipSpace(json, at + 1)
  if (json[at] !== byte.close_object) {
    for (;;) {
      const key_end = skipString(json, at)
      const from = skipColon(json, key_end)
      const to = from === nowhere ? nowhere : skipNested(json, from)
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

/** Behind a value of any depth: it does not recurse. */
function skipNested(json: Buffer, from: number): number {
  /** What ends each array and object that is open. */
  const ends: number[] = []
  let at = from
  do {
    const c = json[at]!
    if (c === byte.open_array || c === byte.open_object) {
      const end = c === byte.open_array ? byte.close_array : byte.close_object
      ends.push(end)
      at = skipSpace(json, at + 1)
      if (json[at] !== end) {
        if (c === byte.open_object) at = skipColon(json, skipString(json, at))
        if (at === nowhere) return nowhere
        continue
      }
    } else at = skipValue(json, at, 0)
    at = skipEnds(json, at, ends)
  } while (at !== nowhere && ends.length > 0)
  return at
}

/** From behind a value, over what ends with it, to the next value. */
function skipEnds(json: Buffer, from: number, ends: number[]): number {
  if (from === nowhere) return nowhere
  let at = from
  while (ends.length > 0) {
    const end = ends[ends.length - 1]
    at = skipSpace(json, at)
    if (json[at] === byte.comma) {
      at = skipSpace(json, at + 1)
      return end === byte.close_object ? skipColon(json, skipString(json, at)) : at
    }
    if (json[at] !== end) return nowhere
    ends.pop()
    at += 1
  }
  return at
}
