import fc from 'fast-check'

/** The bytes of a text, some of them changed, doubled or gone. */
export const damaged = (text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(text, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), piece), { minLength: 1, maxLength: 3 }))
    .map(([whole, changes]) =>
      changes.reduce((bytes, [place, gone, put]) => {
        const at = place % (bytes.length + 1)
        return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + gone)])
      }, Buffer.from(whole)),
    )

/** Mostly what has a meaning in JSON. */
const piece = fc.oneof(
  fc
    .constantFrom(
      '',
      '"',
      '\\',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      ' ',
      '\n',
      '0',
      '-',
      'e',
      '.',
      'null',
      '\\"',
      '\u0000',
      '""',
    )
    .map((put) => Buffer.from(put)),
  fc.uint8Array({ minLength: 1, maxLength: 2 }).map((put) => Buffer.from(put)),
)
