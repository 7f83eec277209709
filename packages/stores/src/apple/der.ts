/** Tags of ASN.1. */
export const tags = {
  integer: 0x02,
  octet_string: 0x04,
  object_id: 0x06,
  utf8_string: 0x0c,
  ia5_string: 0x16,
  sequence: 0x30,
  set: 0x31,
  context_0: 0xa0,
  context_3: 0xa3,
} as const

/** An element of DER (X.690). */
export interface Element {
  tag: number
  value: Buffer
  /** All of it, with tag and length. */
  raw: Buffer
}

/** The elements inside of one with this tag; none inside of another. */
export const inside = (element: Element | undefined, tag: number): Element[] =>
  element?.tag === tag ? readElements(element.value) : []

/** The elements that stand one after the other; up to the first that is none. */
export function readElements(bytes: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const tag = bytes[at]!
    const first = bytes[at + 1]!
    const long = first & 0x80 ? first & 0x7f : 0
    if (long > 4 || (first & 0x80 && long === 0) || at + 2 + long > bytes.length) break
    const start = at + 2 + long
    const end = start + (long === 0 ? first : bytes.readUIntBE(at + 2, long))
    if (end > bytes.length) break
    elements.push({ tag, value: bytes.subarray(start, end), raw: bytes.subarray(at, end) })
    at = end
  }
  return elements
}
