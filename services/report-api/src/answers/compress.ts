import { pipeline, type Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { rawTypes } from '@tributary/contracts/raw-tables'
import type { FastifyInstance, FastifyReply } from 'fastify'
import Negotiator from 'negotiator'

/** The encodings of answers by their name in `Content-Encoding` (RFC 9110 8.4, RFC 8878). */
const encodings = {
  gzip: { whole: promisify(gzip), stream: createGzip },
  zstd: { whole: promisify(zstdCompress), stream: createZstdCompress },
}
type Encoding = keyof typeof encodings

/**
 * Compresses the answers of an app as `Accept-Encoding` asks. Among encodings of equal weight the first of the header
 * is taken. Answers below `report_compressed_bytes_min` stay as they are.
 */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    // A Parquet file is compressed inside.
    if (reply.getHeader('content-type') === rawTypes.parquet) return payload
    // Compression would hold lines back that come while work goes on (`no-transform`: RFC 9111, 5.2.2.6).
    if (String(reply.getHeader('cache-control')).includes('no-transform')) return payload
    addVary(reply, 'Accept-Encoding')
    const encoding = new Negotiator(request).encoding([...Object.keys(encodings), 'identity'])
    if (!isSupported(encoding)) return payload
    if (typeof payload === 'string') {
      if (Buffer.byteLength(payload) < limits.report_compressed_bytes_min) return payload
      reply.header('content-encoding', encoding).removeHeader('content-length')
      return encodings[encoding].whole(payload)
    }
    if (!isStream(payload)) return payload
    reply.header('content-encoding', encoding)
    // The end of the source, good or bad, is the end of the result: fastify sees it there.
    return pipeline(payload, encodings[encoding].stream(), () => {})
  })
}

const isSupported = (encoding: string | undefined): encoding is Encoding =>
  encoding !== undefined && Object.hasOwn(encodings, encoding)

const isStream = (payload: unknown): payload is Readable =>
  typeof payload === 'object' && payload !== null && 'pipe' in payload

/** Names a request header that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const named = reply.getHeader('vary')
  reply.header('vary', named === undefined ? name : `${named}, ${name}`)
}
