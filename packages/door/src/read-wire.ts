import type { IncomingMessage } from 'node:http'
import { CodedError } from '@tributary/contracts/errors'
import type { FastifyRequest } from 'fastify'
import type { Pace } from './pace.ts'

/**
 * A content type parser: the body as it came, as one Buffer. Its bytes are counted with `request.hold` while they
 * come; where that throws there is no body, `request.refusal` says why, and what still comes is dropped: a connection
 * that is closed while its client sends would lose the answer. So are the bytes of a sender whose keys are unknown.
 * Throws `body_too_large` beyond the route's `bodyLimit`, before anything is read where the length is told, and
 * `request_timeout` when the body comes too slowly.
 */
export const createReadWire =
  (pace: Pace) =>
  (request: FastifyRequest, payload: IncomingMessage, done: (error: Error | null, body?: Buffer) => void): void => {
    const { bodyLimit = 0 } = request.routeOptions
    if (Number(request.headers['content-length']) > bodyLimit) {
      done(new CodedError('body_too_large'))
      return
    }
    const known = !(request.sender instanceof Error)
    const chunks: Buffer[] = []
    let bytes = 0
    const watched = pace.watch(() => bytes, end)

    function stop() {
      pace.forget(watched)
      payload.off('data', take)
      payload.off('end', whole)
      payload.off('error', end)
    }
    function end(error: Error | null) {
      stop()
      request.ingest.bytes = bytes
      // A copy, also of a single chunk: what was read from the socket is part of a larger buffer.
      if (error === null) done(null, Buffer.concat(chunks))
      else if (error instanceof CodedError) done(error)
      // The client hung up half-way: no fault of ours, so nothing to be logged as one.
      else done(new CodedError('bad_json', { message: 'The request body could not be read.', cause: error }))
    }
    const whole = () => end(null)
    function take(chunk: Buffer) {
      bytes += chunk.length
      if (bytes > bodyLimit) return end(new CodedError('body_too_large'))
      if (!known) return
      try {
        request.hold(chunk.length)
        chunks.push(chunk)
      } catch (error) {
        request.refusal = error as Error
        stop()
        done(null)
      }
    }
    payload.on('data', take)
    payload.on('end', whole)
    payload.on('error', end)
  }
