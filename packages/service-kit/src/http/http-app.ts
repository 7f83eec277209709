import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { CodedError, type ErrorBody, type ErrorCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import { clientAddress } from './client-address.ts'
import { refuseConnections } from './refuse-connection.ts'
import { shareConnections } from './share-connections.ts'

export interface HttpAppOptions {
  logger: Logger
  /** Addresses or CIDR ranges whose `X-Forwarded-For` is believed; none by default. */
  trusted_proxies?: readonly string[]
  /** Other patience with clients than `limits`, for tests. */
  patience?: Partial<Patience>
}

/** How many clients there may be, and how long each may take; see `limits`. */
interface Patience {
  connections_max: number
  headers_wait_ms_max: number
  request_wait_ms_max: number
  silence_ms_max: number
  keep_alive_ms: number
  lateness_check_ms: number
  drain_ms_max: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Address of the client, behind trusted proxies too; `request.ip` is only the other end of the connection. */
    client_ip: string
  }
}

/** RFC 9112 3.2. */
const hostMissing = new CodedError('bad_json', {
  message: 'The Host header is missing.',
  headers: { connection: 'close' },
})

const requestIdShape = /^[\x21-\x7e]{1,128}$/

/**
 * An HTTP app with the defaults of every surface: request ids, coded JSON errors, 404 and 405, explicit timeouts.
 * Bodies come as a Buffer in `request.body` (undefined without one): signatures are checked over exact bytes.
 */
export function createHttpApp({ logger, trusted_proxies = [], patience }: HttpAppOptions): FastifyInstance {
  const waits = { ...limits, ...patience }
  const connections = refuseConnections()
  const app = Fastify({
    // fastify's own info lines are dropped: they would repeat the `listening` of `serve`, once per address.
    loggerInstance: logger.child({}, { level: logger.isLevelEnabled('info') ? 'warn' : logger.level }),
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent, // lines name their request themselves; a logger for each costs 1 us
    trustProxy: false, // see `clientAddress`
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && requestIdShape.test(given) ? given : randomUUID()
    },
    exposeHeadRoutes: false,
    connectionTimeout: waits.silence_ms_max,
    requestTimeout: waits.request_wait_ms_max,
    keepAliveTimeout: waits.keep_alive_ms,
    http: {
      headersTimeout: waits.headers_wait_ms_max,
      connectionsCheckingInterval: waits.lateness_check_ms,
      maxHeaderSize: limits.header_bytes_max,
      requireHostHeader: false, // asked below: Node would refuse without a code
    },
    clientErrorHandler: connections.refuse,
    bodyLimit: 64 * 1024,
    return503OnClosing: false, // fastify's own 503 has no code: what comes on an open connection is served, as its last
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply: FastifyReply) => {
      logger.debug({ err: error, request_id: request.id }, 'request refused by the HTTP layer')
      reply.status(404).header('x-request-id', request.id).send(errorBody('not_found', request.id)) // no hook runs here
    },
  }) as unknown as FastifyInstance
  shareConnections(app.server, { connections_max: waits.connections_max, trusted_proxies })
  app.server.maxHeadersCount = limits.headers_max
  // RFC 9110 10.1.1 lets a server pass over an expectation it does not know; Node would refuse without a code.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  connections.watch(app.server)
  closeInTime(app, waits.drain_ms_max)
  const addressOf = clientAddress(trusted_proxies)
  app.decorateRequest('client_ip', {
    getter() {
      return addressOf(this.socket.remoteAddress, this.headers['x-forwarded-for'])
    },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done(request.headers.host === undefined && request.raw.httpVersion === '1.1' ? hostMissing : undefined)
  })
  const allowedMethods = collectRoutes(app)
  const answerNoRoute = (request: FastifyRequest, reply: FastifyReply) => {
    const allowed = allowedMethods(request.url.split('?', 1)[0] ?? '/')
    if (allowed.length === 0) return reply.status(404).send(errorBody('not_found', request.id))
    return reply.status(405).header('allow', allowed.join(', ')).send(errorBody('method_not_allowed', request.id))
  }
  app.setNotFoundHandler(answerNoRoute)
  app.setErrorHandler((error: FastifyError | CodedError, request, reply) => {
    // Where there is no route it does not matter what is wrong with the body (QUERY without a content type is, to fastify).
    if (request.is404 && !(error instanceof CodedError)) return answerNoRoute(request, reply)
    const coded = toCodedError(error)
    // Without a cause nothing failed: requests beyond what can be done are refused, and a line each would be more work.
    if (coded.status >= 500 && coded.cause !== undefined)
      logger.error({ err: error, request_id: request.id, url: request.url }, 'request failed')
    for (const [name, value] of Object.entries(coded.headers)) reply.header(name, value)
    const body = errorBody(coded.code, request.id, coded.field, coded.message)
    return reply.status(coded.status).type('application/json; charset=utf-8').send(body)
  })
  return app
}

/** The token of `Authorization: Bearer <token>`. Throws `missing_bearer_token` (docs/rules.md#credentials). */
export function bearerToken(authorization: string | undefined): string {
  const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
  if (token === undefined) {
    const message = 'The header Authorization must be: Bearer, a space, and the key or token.'
    throw new CodedError('missing_bearer_token', { message, headers: { 'www-authenticate': 'Bearer' } })
  }
  return token
}

function errorBody(error: ErrorCode, request_id: string, field?: string, message?: string): ErrorBody {
  return { error, ...(field ? { field } : {}), ...(message ? { message } : {}), request_id }
}

function toCodedError(error: FastifyError | CodedError): CodedError {
  if (error instanceof CodedError) return error
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new CodedError('body_too_large', { cause: error })
  // What remains below 500 is fastify's word on a body that never came whole or a length that lies.
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new CodedError('bad_json', { message: 'The request body could not be read.', cause: error })
  }
  return new CodedError('internal_error', { cause: error })
}

/** The request of a connection that was just accepted may have come and not been read yet. */
const unread_ms_max = 500

/**
 * A server that closes looks for late clients no more, and takes a connection that never said anything for a request
 * under way: those are closed soon, requests that do not end in time with them. The answer to a request under way
 * is the last on its connection, which would else stay open for the next one and the server with it.
 */
function closeInTime(app: FastifyInstance, drain_ms_max: number): void {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  let closing = false
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close')
    done()
  })
  app.addHook('preClose', async () => {
    closing = true
    setTimeout(() => {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }, unread_ms_max).unref()
    setTimeout(() => app.server.closeAllConnections(), drain_ms_max).unref()
  })
}

/** Remembers every route, so that a known path with another method answers 405 and not 404. */
function collectRoutes(app: FastifyInstance): (path: string) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const source = url
      .split('/')
      .map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part).replace('\\*', '.*')))
    routes.push({ pattern: new RegExp(`^${source.join('/')}$`), methods: [method].flat() })
  })
  return (path) => [...new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods))]
}
