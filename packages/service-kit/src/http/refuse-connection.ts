import { randomUUID } from 'node:crypto'
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from '@tributary/contracts/errors'

/** Answers by the error code of Node's HTTP parser. */
const refusals: Record<string, { status: number; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large.' },
}
const notHttp = { status: 400, message: 'This is no HTTP request.' }

/** The responses to the last two requests of a connection. */
interface Responses {
  last: ServerResponse
  before: ServerResponse | undefined
}

/**
 * Refuses what a connection sends that is no request. `watch` takes the server, `refuse` is its `clientErrorHandler`.
 * Complete requests before it are answered first: responses come in the order of their requests (RFC 9112 9.3.2).
 */
export function connectionRefusals() {
  const responsesOf = new WeakMap<Socket, Responses>()
  const refused = new WeakSet<Socket>()
  return {
    watch(server: Server): void {
      server.on('request', ({ socket }, response) => {
        responsesOf.set(socket, { last: response, before: responsesOf.get(socket)?.last })
      })
    },
    refuse(error: NodeJS.ErrnoException, socket: Socket): void {
      if (refused.has(socket)) return // each further chunk of a refused connection is an error again
      refused.add(socket)
      const pending = lastComplete(responsesOf.get(socket))
      if (pending === undefined || pending.writableFinished || pending.destroyed) refuseConnection(error, socket)
      else pending.once('finish', () => refuseConnection(error, socket))
    },
  }
}

/** The response to the last complete request. Only the last request of a connection can be incomplete. */
const lastComplete = (responses: Responses | undefined): ServerResponse | undefined =>
  responses?.last.req.complete ? responses.last : responses?.before

/**
 * Answers 400, 431 or 408 with the code `bad_json`, then closes the connection: nobody knows where the next request
 * would begin. A PROXY preamble is refused in this way too.
 */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = refusals[error.code ?? ''] ?? notHttp
  const body: ErrorBody = { error: 'bad_json', message, request_id: randomUUID() }
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${body.request_id}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}
