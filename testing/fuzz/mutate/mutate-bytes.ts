import { deflateSync, gzipSync } from 'node:zlib'
import type { Random } from '../random.ts'

/** Changes a few bytes: flips, cuts, splices, doubled parts. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return Buffer.from([random.below(256)])
  const at = random.below(bytes.length)
  const to = Math.min(bytes.length, at + 1 + random.below(40))
  switch (random.below(6)) {
    case 0: {
      const flipped = Buffer.from(bytes)
      for (let left = 1 + random.below(4); left > 0; left -= 1) {
        flipped[random.below(flipped.length)]! ^= 1 << random.below(8)
      }
      return flipped
    }
    case 1:
      return bytes.subarray(0, at)
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)])
    case 3:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)])
    case 4:
      return Buffer.concat([bytes.subarray(0, at), random.pick(strange), bytes.subarray(at)])
    default:
      return Buffer.concat([bytes, random.pick(strange)])
  }
}

/** Byte order marks, NUL, and invalid UTF-8: lone continuations, overlong forms, surrogates, cuts, values beyond Unicode. */
const strange: readonly Buffer[] = [
  ...['efbbbf', 'fffe', 'feff', '00', '000000', '80', 'c0af', 'c080', 'eda080', 'edb080', 'e282', 'f4908080', 'ff'],
  ...['f8888080', '0d0a', '0a', '0d', '20', '7d', '5d', '22', '2c', '1f8b', '5c', 'f09f92a5', 'e280a8'],
].map((hex) => Buffer.from(hex, 'hex'))

/** JSON text as bytes in an encoding that is not always UTF-8. */
export function mutateText(text: string, random: Random): Buffer {
  switch (random.below(8)) {
    case 0:
      return Buffer.from(`\ufeff${text}`)
    case 1:
      return Buffer.from(text, 'utf16le')
    case 2:
      return Buffer.from(text, 'latin1')
    case 3:
      return Buffer.from(
        `${random.pick([' ', '\n', '\r\n', '\t'])}${text}${random.pick(['\n', ' ', '\u0000', '}', text])}`,
      )
    case 4:
      return Buffer.from(text.replaceAll(',', random.pick([' ,\n', ',\r\n', ', ', ',,'])))
    case 5:
      return Buffer.alloc(0)
    default:
      return mutateBytes(Buffer.from(text), random)
  }
}

const bombs: readonly Buffer[] = [1, 9, 40].map((mib) => gzipSync(Buffer.alloc(mib * 2 ** 20, 0x20), { level: 9 }))
const nothing = gzipSync(Buffer.alloc(0))

/** A gzip stream of the body that is whole, strange, or broken. */
export function mutateGzip(body: Buffer, random: Random): Buffer {
  const member = gzipSync(body, { level: random.pick([0, 1, 6]) })
  if (random.chance(0.5)) return member
  if (random.chance(0.01)) return random.pick(bombs)
  const cut = random.below(body.length + 1)
  const halves = () => [gzipSync(body.subarray(0, cut)), gzipSync(body.subarray(cut))]
  switch (random.below(8)) {
    case 0:
      return Buffer.concat(halves())
    case 1:
      return Buffer.concat([nothing, ...halves(), nothing])
    case 2:
      return Buffer.concat([
        member,
        random.pick([Buffer.alloc(1), Buffer.alloc(512), Buffer.from('x'), nothing, member]),
      ])
    case 3:
      return withNamedHeader(member, random)
    case 4:
      return random.pick([nothing, deflateSync(body), gzipSync(member), body])
    default:
      return mutateBytes(member, random)
  }
}

/** The member with optional fields of RFC 1952: a name and a comment. */
function withNamedHeader(member: Buffer, random: Random): Buffer {
  const head = Buffer.from(member.subarray(0, 10))
  head[3] = random.pick([0x08, 0x10, 0x18, 0x1c, 0xff])
  return Buffer.concat([head, Buffer.from('name\0comment\0'), member.subarray(10)])
}
