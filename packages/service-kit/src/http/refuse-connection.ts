import { randomUUID } from 'node:crypto'
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody } from '@tributary/contracts/errors'

const refusals: Record<string, { status: number; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large.' },
}
const other = { status: 400, message: 'This is no HTTP request.' }

/** The last answer of a connection, and the one before it. */
interface Answers {
  last: ServerResponse
  before: ServerResponse | undefined
}

/**
 * A `clientErrorHandler`, to be told of its server. Requests that came whole before the bytes that are none are
 * answered first (RFC 9112 9.3.2: answers come in the order of their requests), then comes the refusal.
 */
export function refuseConnections() {
  const answers = new WeakMap<Socket, Answers>()
  const refused = new WeakSet<Socket>()
  return {
    watch(server: Server): void {
      server.on('request', ({ socket }, response) => {
        answers.set(socket, { last: response, before: answers.get(socket)?.last })
      })
    },
    refuse(error: NodeJS.ErrnoException, socket: Socket): void {
      if (refused.has(socket)) return // each further piece of it is an error again
      refused.add(socket)
      const due = lastWhole(answers.get(socket))
      if (due === undefined || due.writableFinished || due.destroyed) refuseConnection(error, socket)
      else due.once('finish', () => refuseConnection(error, socket))
    },
  }
}

/** Only the last request of a connection may not have come whole. */
const lastWhole = (answers: Answers | undefined): ServerResponse | undefined =>
  answers?.last.req.complete ? answers.last : answers?.before

/**
 * Answers what never became a request (no HTTP, a PROXY preamble among it; headers too large; too slow) with 400, 431
 * or 408 and the code `bad_json`, then closes the connection: where the next request would begin is unknown.
 */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = refusals[error.code ?? ''] ?? other
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
