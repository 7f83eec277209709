/** The place of a value in a JSON text: from its first byte to behind its last one. */
export interface Span {
  from: number
  to: number
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * The members of the object that begins at `at`, in their order; a repeated name comes repeatedly. The text must be valid
 * JSON: nothing is checked here. No value is made, so the caller keeps the bytes as they are.
 */
export function* membersOf(json: Buffer, at: number): Generator<{ name: string; value: Span }> {
  if (json[at] !== openBrace) return
  let next = skipSpace(json, at + 1)
  while (json[next] !== closeBrace) {
    const name_end = stringEnd(json, next)
    const name = JSON.parse(json.toString('utf8', next, name_end)) as string
    const from = skipSpace(json, skipOver(json, name_end, colon))
    const to = valueEnd(json, from)
    yield { name, value: { from, to } }
    next = skipSpace(json, skipOver(json, to, comma))
  }
}

/** The elements of the array that begins at `at`; none where no array does. */
export function* elementsOf(json: Buffer, at: number): Generator<Span> {
  if (json[at] !== openBracket) return
  let from = skipSpace(json, at + 1)
  while (json[from] !== closeBracket) {
    const to = valueEnd(json, from)
    yield { from, to }
    from = skipSpace(json, skipOver(json, to, comma))
  }
}

/** A value, and the text that takes its place. */
export interface Edit extends Span {
  to_be: Buffer
}

/** The text with these edits, of which no two overlap. All other bytes stay. */
export function splice(json: Buffer, edits: readonly Edit[]): Buffer {
  const parts: Buffer[] = []
  let at = 0
  for (const { from, to, to_be } of edits.toSorted((a, b) => a.from - b.from)) {
    parts.push(json.subarray(at, from), to_be)
    at = to
  }
  return Buffer.concat([...parts, json.subarray(at)])
}

/** Position behind the value that begins at `at`. Any nesting takes no stack. */
function valueEnd(json: Buffer, at: number): number {
  const first = json[at]
  if (first === quote) return stringEnd(json, at)
  if (first !== openBrace && first !== openBracket) return scalarEnd(json, at)
  let depth = 0
  for (let next = at; next < json.length; next += 1) {
    const byte = json[next]
    if (byte === quote) next = stringEnd(json, next) - 1
    else if (byte === openBrace || byte === openBracket) depth += 1
    else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1
      if (depth === 0) return next + 1
    }
  }
  throw new RangeError('a JSON text ends within a value')
}

function stringEnd(json: Buffer, at: number): number {
  for (let end = json.indexOf(quote, at + 1); end !== -1; end = json.indexOf(quote, end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === backslash) escapes += 1
    if (escapes % 2 === 0) return end + 1
  }
  throw new RangeError('a JSON text ends within a string')
}

/** A number, `true`, `false` or `null`. */
function scalarEnd(json: Buffer, at: number): number {
  let end = at
  while (end < json.length && !isDelimiter(json[end]!)) end += 1
  if (end === at) throw new RangeError('a JSON text has no value where one must stand')
  return end
}

const isDelimiter = (byte: number): boolean =>
  byte <= 0x20 || byte === comma || byte === closeBrace || byte === closeBracket

function skipSpace(json: Buffer, at: number): number {
  let next = at
  while (json[next]! <= 0x20) next += 1
  return next
}

/** Position behind a comma or colon, if one follows. */
function skipOver(json: Buffer, at: number, byte: number): number {
  const next = skipSpace(json, at)
  return json[next] === byte ? next + 1 : next
}
