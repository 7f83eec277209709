const [quote, colon, space] = [0x22, 0x3a, 0x20]
/** Every id here is at most as long; a longer text is none. */
const id_bytes_max = 128
const escaped = Buffer.from('\\u00')

/**
 * Whether a JSON text may hold a member of this name whose value is one of the ids: a quick look before any parsing, which
 * never misses one. Ids consist of `[A-Za-z0-9_-]`; a text that escapes such a character may hold any id.
 */
export function mayName(json: Buffer, member: Buffer, isOne: (id: string) => boolean): boolean {
  for (let at = json.indexOf(member); at !== -1; at = json.indexOf(member, at + member.length)) {
    const from = textStart(json, at + member.length)
    if (from === -1) continue
    const to = json.indexOf(quote, from)
    if (to !== -1 && to - from <= id_bytes_max && isOne(json.toString('latin1', from, to))) return true
  }
  return escapesAnIdCharacter(json)
}

/** `"name"`, as `mayName` looks for it. */
export const memberName = (name: string): Buffer => Buffer.from(`"${name}"`)

/** The place where the text of a member's value begins; -1 when the value is no text. */
function textStart(json: Buffer, behind_name: number): number {
  let at = behind_name
  while (json[at]! <= space) at += 1
  if (json[at] !== colon) return -1
  at += 1
  while (json[at]! <= space) at += 1
  return json[at] === quote ? at + 1 : -1
}

/** Encoders escape what is special to HTML or not ASCII, and no character of an id or of a member's name. */
function escapesAnIdCharacter(json: Buffer): boolean {
  for (let at = json.indexOf(escaped); at !== -1; at = json.indexOf(escaped, at + escaped.length)) {
    const code = Number.parseInt(json.toString('latin1', at + escaped.length, at + escaped.length + 2), 16)
    if (/[A-Za-z0-9_-]/.test(String.fromCharCode(code))) return true
  }
  return false
}
