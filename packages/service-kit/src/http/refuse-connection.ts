import { randomUUID } from 'node:crypto'
import { type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorBody, ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { isFenced } from './admin-fence.ts'
import { type AllowedMethods, pathOf } from './allowed-methods.ts'

/** An error of Node's HTTP parser, with the piece of the connection that it could not read on. */
interface ParserError extends NodeJS.ErrnoException {
  rawPacket?: unknown
  bytesParsed?: number
}

interface Refusal {
  status: number
  error: ErrorCode
  message?: string
  allow?: string
}

const notHttp: Refusal = { status: 400, error: 'bad_json', message: 'This is no HTTP request.' }

/** The answer to what Node's parser refuses. */
function refusalOf({ code, rawPacket, bytesParsed = 0 }: ParserError, allowedMethods: AllowedMethods): Refusal {
  const text = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : ''
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, error: 'request_timeout', message: 'The request did not arrive in time.' }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const [line = '', rest] = text.split('\n', 2)
    const isLong = rest === undefined || line.length >= limits.header_bytes_max
    return isLong && /^[A-Z]+ \//.test(line)
      ? { status: 414, error: 'uri_too_long' }
      : { status: 431, error: 'bad_json', message: 'The headers are too large.' }
  }
  if (code !== 'HPE_INVALID_METHOD') return notHttp
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1)
  const url = /^[!#$%&'*+.^`|~\w-]+ (\/\S*) HTTP\/1\.[01]\r?\n/.exec(line)?.[1]
  if (url === undefined) return notHttp
  const path = pathOf(url)
  const allowed = isFenced(path) ? [] : allowedMethods(path)
  if (allowed.length === 0) return { status: 404, error: 'not_found' }
  return { status: 405, error: 'method_not_allowed', allow: allowed.join(', ') }
}

/** The responses to the last two requests of a connection. */
interface Responses {
  last: ServerResponse
  before: ServerResponse | undefined
}

/**
 * Refuses what a connection sends that is no request. `watch` takes the server, `refuse` is its `clientErrorHandler`.
 * Complete requests before it are answered first: responses come in the order of their requests (RFC 9112 9.3.2).
 */
export function connectionRefusals(allowedMethods: AllowedMethods) {
  const responsesOf = new WeakMap<Socket, Responses>()
  const refused = new WeakSet<Socket>()
  return {
    watch(server: Server): void {
      server.on('request', ({ socket }, response) => {
        responsesOf.set(socket, { last: response, before: responsesOf.get(socket)?.last })
      })
    },
    refuse(error: ParserError, socket: Socket): void {
      if (refused.has(socket)) return // each further chunk of a refused connection is an error again
      refused.add(socket)
      const pending = lastComplete(responsesOf.get(socket))
      const refuseNow = () => refuseConnection(error, socket, allowedMethods)
      if (pending === undefined || pending.writableFinished || pending.destroyed) refuseNow()
      else pending.once('finish', refuseNow)
    },
  }
}

/** The response to the last complete request. Only the last request of a connection can be incomplete. */
const lastComplete = (responses: Responses | undefined): ServerResponse | undefined =>
  responses?.last.req.complete ? responses.last : responses?.before

/**
 * Answers with a code (`bad_json` for what is no request, `request_timeout` for what may be sent again), then closes the connection:
 * nobody knows where the next request would begin. A PROXY preamble is refused in this way too.
 */
function refuseConnection(error: ParserError, socket: Socket, allowedMethods: AllowedMethods): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, allow, ...refusal } = refusalOf(error, allowedMethods)
  const body: ErrorBody = { ...refusal, request_id: randomUUID() }
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-Id: ${body.request_id}`,
    ...(allow === undefined ? [] : [`Allow: ${allow}`]),
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}
