import type { IncomingMessage } from 'node:http'
import { CodedError } from '@tributary/contracts/errors'
import type { FastifyRequest } from 'fastify'
import type { Pace } from './pace.ts'
import { createPieces, type Pieces } from './pieces.ts'

/** The body of a request as it came, empty without one, and its encoding. */
export function wireBody({ body, headers }: FastifyRequest): { wire: Buffer; encoding: string | undefined } {
  return { wire: (body as Buffer | undefined) ?? Buffer.alloc(0), encoding: headers['content-encoding'] }
}

/**
 * Makes a content type parser that returns the body as it came, as one Buffer. `request.takeShare` counts its bytes
 * while they arrive. If that throws, there is no body, and `request.refusal` holds the error. The parser then drops the
 * rest of the bytes, since a client whose connection closes while it sends loses the answer. It also drops the body of
 * a sender with unknown keys. Throws `body_too_large` beyond the route's `bodyLimit` (before reading, if the length is
 * announced), and `request_timeout` when the body arrives too slowly. A body that has to make room for others is
 * refused like one that finds no room.
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
    let pieces: Pieces | null = createPieces()
    let bytes = 0
    const watched = pace.watch(() => bytes, end)
    request.mayEnd(refuse)

    function stop() {
      pace.forget(watched)
      payload.off('data', take)
      payload.off('end', finish)
      payload.off('error', end)
    }
    function end(error: Error | null) {
      stop()
      request.endBody('whole')
      request.ingest.bytes = bytes
      if (error === null) done(null, pieces?.join())
      else if (error instanceof CodedError) done(error)
      // The client hung up half-way. That is not our fault, so it is not logged as one.
      else done(new CodedError('bad_json', { message: 'The request body could not be read.', cause: error }))
    }
    const finish = () => end(null)
    function refuse(refusal: Error) {
      request.refusal = refusal
      stop()
      request.endBody('dropped')
      pieces = null
      // The code of the sender that needs the room is running, so the refusal waits for the next microtask.
      queueMicrotask(() => done(null))
    }
    function take(chunk: Buffer) {
      bytes += chunk.length
      if (bytes > bodyLimit) return end(new CodedError('body_too_large'))
      if (!known) return
      try {
        request.takeShare(chunk.length)
        pieces?.add(chunk)
      } catch (error) {
        refuse(error as Error)
      }
    }
    payload.on('data', take)
    payload.on('end', finish)
    payload.on('error', end)
  }
