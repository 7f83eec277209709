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
      if (isNamed(json.subarray(at, key_end), name)) value = json.subarray(from, to)
      at = skipSpace(json, to)
      if (json[at] !== byte.comma) break
      at = skipSpace(json, at + 1)
    }
  }
  if (json[at] !== byte.close_object || skipSpace(json, at + 1) !== json.length) return null
  return value?.[0] === byte.quote ? textOf(value) : undefined
}

const textOf = (json: Buffer): string => JSON.parse(json.toString('utf8'))

/** A name of the same length without escapes is compared as it is. */
const isNamed = (key: Buffer, name: string): boolean =>
  key.includes(byte.backslash) ? textOf(key) === name : key.length === name.length + 2 && textOf(key) === name

/** Behind a value of any depth: it does not recurse. */
function skipNested(json: Buffer, from: number): number {
  /** What ends each array and object that is open. */
  const ends: number[] = []
  let at = from
  do {
    const c = json[at]!
    if (c === byte.open_array || c === byte.open_object) {
      ends.push(c === byte.open_array ? byte.close_array : byte.close_object)
      at = skipSpace(json, at + 1)
      if (json[at] !== ends.at(-1)) {
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
  for (let end = ends.at(-1); end !== undefined; end = ends.at(-1)) {
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
