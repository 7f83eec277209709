/** An element of DER (X.690): its tag, its length, its content. */
export function der(tag: number, ...content: (Buffer | readonly number[])[]): Buffer {
  const value = Buffer.concat(content.map((part) => Buffer.from(part)))
  const { length } = value
  const bytes = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : 3
  const head = Buffer.alloc(2 + bytes)
  head[0] = tag
  head[1] = bytes === 0 ? length : 0x80 | bytes
  if (bytes > 0) head.writeUIntBE(length, 2, bytes)
  return Buffer.concat([head, value])
}

export const sequence = (...content: Buffer[]): Buffer => der(0x30, ...content)
export const set = (...content: Buffer[]): Buffer => der(0x31, ...content)
export const octets = (content: Buffer): Buffer => der(0x04, content)
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
export const explicit = (number: number, content: Buffer): Buffer => der(0xa0 + number, content)

/** A number from 0 to 2^31 - 1. */
export function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(value, 1)
  const first = bytes.findIndex((byte) => byte !== 0)
  const at = first === -1 ? 4 : bytes[first]! >= 0x80 ? first - 1 : first
  return der(0x02, bytes.subarray(at))
}

/** An object id such as `1.2.840`. */
export function objectId(text: string): Buffer {
  const [one = 0, two = 0, ...others] = text.split('.').map(Number)
  return der(0x06, [one * 40 + two, ...others.flatMap(inBase128)])
}

function inBase128(value: number): number[] {
  const digits = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}
