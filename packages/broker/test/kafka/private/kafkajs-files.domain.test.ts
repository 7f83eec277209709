import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

const require = createRequire(import.meta.url)

/** Files of kafkajs 2.2.4 that ours patch or rely on, and the first half of the hash of their text. */
const files = [
  ['consumer/batch.js', '04ee865724744159'],
  ['consumer/offsetManager/index.js', 'bd1041968ae32232'],
  ['network/requestQueue/index.js', 'b55986089c14f8f7'],
  ['protocol/encoder.js', '9977889e184a9e91'],
  ['protocol/recordBatch/crc32C/index.js', '0826ea7387f25400'],
  ['protocol/recordBatch/v0/decoder.js', '38cae7fc865f9bc5'],
  ['protocol/requests/fetch/v4/decodeMessages.js', 'd9fede59bebf84ee'],
]

test.each(files)(
  '%s of kafkajs is as it was when ours was written for it (docs/private-interfaces.md)',
  (file, was) => {
    const text = readFileSync(require.resolve(`kafkajs/src/${file}`))
    expect(hash('sha256', text).slice(0, 16)).toBe(was)
  },
)
