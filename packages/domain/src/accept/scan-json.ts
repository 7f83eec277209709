/*
 * Walks JSON text (RFC 8259, valid UTF-8) without making values of it. Each function takes the index where something
 * begins and gives the index after it, or `nowhere` when it is not there.
 */

export const nowhere = -1

/** Bytes that have a meaning in JSON. */
export const byte = {
  ...{ quote: 0x22, comma: 0x2c, colon: 0x3a, backslash: 0x5c, minus: 0x2d, dot: 0x2e, zero: 0x30, nine: 0x39 },
  ...{ open_array: 0x5b, close_array: 0x5d, open_object: 0x7b, close_object: 0x7d, t: 0x74, f: 0x66, n: 0x6e, u: 0x75 },
} as const

/** Position behind white space, if there is any. */
export function skipSpace(json: Uint8Array, from: number): number {
  let at = from
  for (let c = json[at]!; c <= 0x20 && (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09); c = json[at]!) at += 1
  return at
}

export function skipString(json: Uint8Array, from: number): number {
  if (json[from] !== byte.quote) return nowhere
  const end = json.length
  for (let at = from + 1; at < end; at += 1) {
    const c = json[at]!
    if (c > byte.backslash || (c > byte.quote && c < byte.backslash) || c === 0x20 || c === 0x21) continue
    if (c === byte.quote) return at + 1
    if (c < 0x20 || !isEscape(json, at + 1)) return nowhere
    at += 1 // what an escape holds after this can end no string
  }
  return nowhere
}

/** Whether an escape is whole; `at` is behind its backslash. */
function isEscape(json: Uint8Array, at: number): boolean {
  if (json[at] !== byte.u) return escaped[json[at] ?? 0] === 1
  for (let digit = at + 1; digit < at + 5; digit += 1) if (hexadecimal[json[digit] ?? 0] !== 1) return false
  return true
}

const marked = (characters: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}
const escaped = marked('"\\/bfnrt')
const hexadecimal = marked('0123456789abcdefABCDEF')

export function skipNumber(json: Uint8Array, from: number): number {
  let at = json[from] === byte.minus ? from + 1 : from
  at = json[at] === byte.zero ? at + 1 : skipDigits(json, at)
  if (at !== nowhere && json[at] === byte.dot) at = skipDigits(json, at + 1)
  if (at === nowhere || (json[at]! | 0x20) !== 0x65) return at
  const sign = json[at + 1]
  return skipDigits(json, sign === 0x2b || sign === byte.minus ? at + 2 : at + 1)
}

/** Position behind digits; `nowhere` where there is none. */
function skipDigits(json: Uint8Array, from: number): number {
  let at = from
  for (let c = json[at]!; c >= byte.zero && c <= byte.nine; c = json[at]!) at += 1
  return at === from ? nowhere : at
}

/**
 * Any value. A value that nests deeper than `depth_max` is `nowhere` (a scalar has depth 0, `{}` has 1), so recursion
 * is bounded.
 */
export function skipValue(json: Uint8Array, from: number, depth_max: number): number {
  switch (json[from]) {
    case byte.quote:
      return skipString(json, from)
    case byte.open_object:
      return depth_max === 0 ? nowhere : skipObject(json, from, depth_max - 1)
    case byte.open_array:
      return depth_max === 0 ? nowhere : skipArray(json, from, depth_max - 1)
    case byte.t:
      return skipWord(json, from, 'true')
    case byte.f:
      return skipWord(json, from, 'false')
    case byte.n:
      return skipWord(json, from, 'null')
    default:
      return skipNumber(json, from)
  }
}

export function skipWord(json: Uint8Array, from: number, word: string): number {
  for (let i = 0; i < word.length; i += 1) if (json[from + i] !== word.charCodeAt(i)) return nowhere
  return from + word.length
}

/** An object whose values nest no deeper than `depth_max`. One that has, or may have, a member of a forbidden name is `nowhere`. */
export function skipObject(json: Uint8Array, from: number, depth_max: number, forbidden: string | null = null): number {
  let at = skipSpace(json, from + 1)
  if (json[at] === byte.close_object) return at + 1
  for (;;) {
    const name_end = skipString(json, at)
    if (name_end === nowhere) return nowhere
    if (forbidden !== null && maySpell(json, at + 1, name_end - 1, forbidden)) return nowhere
    at = skipColon(json, name_end)
    if (at === nowhere) return nowhere
    at = skipValue(json, at, depth_max)
    if (at === nowhere) return nowhere
    at = skipSpace(json, at)
    if (json[at] === byte.close_object) return at + 1
    if (json[at] !== byte.comma) return nowhere
    at = skipSpace(json, at + 1)
  }
}

/** Whether the characters of a string are this ASCII text, or have an escape, which may spell anything. */
function maySpell(json: Uint8Array, from: number, to: number, text: string): boolean {
  let is_same = to - from === text.length
  for (let at = from; at < to; at += 1) {
    if (json[at] === byte.backslash) return true
    if (is_same && json[at] !== text.charCodeAt(at - from)) is_same = false
  }
  return is_same
}

/** Position of a member's value, looked for from behind its name. */
export function skipColon(json: Uint8Array, from: number): number {
  if (from === nowhere) return nowhere
  const at = skipSpace(json, from)
  return json[at] === byte.colon ? skipSpace(json, at + 1) : nowhere
}

function skipArray(json: Uint8Array, from: number, depth_max: number): number {
  let at = skipSpace(json, from + 1)
  if (json[at] === byte.close_array) return at + 1
  for (;;) {
    at = skipValue(json, at, depth_max)
    if (at === nowhere) return nowhere
    at = skipSpace(json, at)
    if (json[at] === byte.close_array) return at + 1
    if (json[at] !== byte.comma) return nowhere
    at = skipSpace(json, at + 1)
  }
}
