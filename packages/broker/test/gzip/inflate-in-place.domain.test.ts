import { createGunzip, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createInflateInPlace, createInflatePlain } from '../../src/gzip/inflate-in-place.ts'

/** As the documented call has it; null for a fault. */
function inflate(wire: Buffer): Buffer | null {
  try {
    return gunzipSync(wire, { maxOutputLength: 1_000_000 })
  } catch {
    return null
  }
}

const content = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
  fc.nat({ max: 200_000 }).map((length) => Buffer.alloc(length, 'events of one install ')),
)
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
const wire = fc
  .tuple(
    fc.array(fc.tuple(content, fc.integer({ min: 0, max: 9 })), { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '', 'garbage', '\0\0', '\x1f\x8b'),
    rarely(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }))),
    rarely(fc.nat({ max: 30 })),
  )
  .map(([members, tail, flip, cut]) => {
    const bytes = Buffer.concat([
      ...members.map(([body, level]) => gzipSync(body, { level })),
      Buffer.from(tail, 'latin1'),
    ])
    if (flip !== null) bytes[flip[0] % bytes.length]! ^= flip[1]
    return cut === null ? bytes : bytes.subarray(0, Math.max(0, bytes.length - cut))
  })

test('what it inflates is what gunzip inflates, whatever came before; for the rest it says nothing', () => {
  const inflateInPlace = createInflateInPlace()
  const seen = { inflated: 0, nothing: 0 }
  fc.assert(
    fc.property(wire, (bytes) => {
      const got = inflateInPlace(bytes)
      seen[got === null ? 'nothing' : 'inflated'] += 1
      if (got !== null) expect(got.equals(inflate(bytes) ?? Buffer.from('a fault'))).toBe(true)
    }),
    { numRuns: 2000 },
  )
  expect(seen.inflated).toBeGreaterThan(500)
  expect(seen.nothing).toBeGreaterThan(500)
})

test('a body as an SDK sends it is inflated in place', () => {
  const inflateInPlace = createInflateInPlace()
  const bodies = Array.from({ length: 50 }, (_, n) => Buffer.from(JSON.stringify({ events: Array(50).fill({ n }) })))
  for (const body of bodies) expect(inflateInPlace(gzipSync(body))?.equals(body)).toBe(true)
})

test('in a Node that is built otherwise everything goes the documented way', () => {
  const stranger = createGunzip()
  Object.assign(stranger, { _handle: {} })
  expect(createInflateInPlace(stranger)(gzipSync('{}'))).toBe(null)
})

/** A gzip file with the flag of a name and these bytes behind its header. */
const named = (body: Buffer, name: string): Buffer => {
  const gzip = gzipSync(body)
  const header = Buffer.from(gzip.subarray(0, 10))
  header[3] = 0x08
  return Buffer.concat([header, Buffer.from(`${name}\0`), gzip.subarray(10)])
}

test('plain gzip is one member that names nothing, whole, and nothing else', () => {
  const inflatePlain = createInflatePlain()
  const seen = { inflated: 0, nothing: 0 }
  fc.assert(
    fc.property(wire, (bytes) => {
      const got = inflatePlain(bytes)
      seen[got === null ? 'nothing' : 'inflated'] += 1
      if (got === null) return
      expect(got.equals(inflate(bytes) ?? Buffer.from('a fault'))).toBe(true)
      // One member: what is behind its header is one deflate stream and eight bytes.
      const { engine } = inflateRawSync(bytes.subarray(10), { info: true }) as unknown as Inflated
      expect(engine.bytesWritten).toBe(bytes.length - 18)
    }),
    { numRuns: 1000 },
  )
  expect(seen.inflated).toBeGreaterThan(100)
  const body = Buffer.from(JSON.stringify({ events: Array(50).fill({ n: 1 }) }))
  const empty = gzipSync('')
  expect(inflatePlain(gzipSync(body))?.equals(body)).toBe(true)
  for (const other of [
    named(body, 'n'),
    Buffer.concat([empty, named(body, 'x'.repeat(600))]),
    Buffer.concat([empty, gzipSync(body)]),
    Buffer.concat([gzipSync(body), empty]),
    gzipSync(body).subarray(0, -1),
  ])
    expect(inflatePlain(other)).toBeNull()
})

/** What zlib gives with `info: true`, which its types leave out. */
interface Inflated {
  engine: { bytesWritten: number }
}
