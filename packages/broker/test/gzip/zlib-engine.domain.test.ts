import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'

interface WithEngine {
  buffer: Buffer
  engine: { bytesWritten: number; _outBuffer: Buffer | null }
}

test('a synchronous call of zlib gives its engine, with the output that it holds on to and the bytes that it read', () => {
  const gzip = gzipSync('text')
  for (const made of [gunzipSync(gzip, { info: true }), zstdCompressSync('text', { info: true })]) {
    const { buffer, engine } = made as unknown as WithEngine
    expect(Buffer.isBuffer(buffer)).toBe(true)
    expect(Buffer.isBuffer(engine._outBuffer)).toBe(true)
  }
  const padded = Buffer.concat([gzip, Buffer.alloc(3)])
  expect((gunzipSync(padded, { info: true }) as unknown as WithEngine).engine.bytesWritten).toBe(gzip.length)
})
