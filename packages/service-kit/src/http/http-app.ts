import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { CodedError, unroutedCode } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { normalAddress } from '@tributary/contracts/networks'
import Fastify, { type FastifyInstance, type FastifyReply, LogController } from 'fastify'
import type { Logger } from 'pino'
import { traceRequests } from '../traces/trace-requests.ts'
import type { Traces } from '../traces/traces.ts'
import { collectRoutes } from './allowed-methods.ts'
import { answerErrors, errorBody } from './answer-errors.ts'
import { clientAddress, networkList } from './client-address.ts'
import { closeInTime } from './close-in-time.ts'
import { countedLog } from './counted-log.ts'
import { connectionRefusals } from './refuse-connection.ts'
import { shareConnections } from './share-connections.ts'

export interface HttpAppOptions {
  logger: Logger
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted; none by default. */
  trusted_proxies?: readonly string[]
  traces?: Traces | undefined
  /** Replaces some of `limits`, for tests. */
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

/**
 * An HTTP app with the defaults of every surface: request ids, `nosniff`, coded JSON errors, 404 and 405, explicit timeouts.
 * Bodies come as a Buffer in `request.body` (undefined without one): signatures are checked over exact bytes.
 */
export function createHttpApp({ logger, trusted_proxies = [], traces, patience }: HttpAppOptions): FastifyInstance {
  const bounds: Patience = { ...limits, ...patience }
  const refusals = connectionRefusals((path) => allowedMethods(path))
  const app = openFastify(logger, bounds, refusals.refuse)
  const allowedMethods = collectRoutes(app)
  refusals.watch(app.server)
  shareConnections(app.server, { connections_max: bounds.connections_max, trusted_proxies })
  app.server.maxHeadersCount = limits.headers_max
  // RFC 9110 10.1.1 lets a server ignore an expectation that it does not know. Node would refuse it without a code.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  closeInTime(app, bounds.drain_ms_max)
  if (traces !== undefined) traceRequests(app, traces)
  addClientAddress(app, trusted_proxies)
  warnOfUnknownProxies(app, trusted_proxies, logger)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff') // answers hold texts of strangers: no browser may run one
    done(hostError(request.raw))
  })
  answerErrors(app, logger, allowedMethods)
  return app
}

function openFastify(
  logger: Logger,
  bounds: Patience,
  clientErrorHandler: ReturnType<typeof connectionRefusals>['refuse'],
): FastifyInstance {
  return Fastify({
    // fastify's own info lines are dropped: they would repeat the `listening` of `serve`, once per address.
    loggerInstance: logger.child({}, { level: logger.isLevelEnabled('info') ? 'warn' : logger.level }),
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (parent) => parent, // a logger for each request costs 1 us; log lines name their request themselves
    trustProxy: false, // `clientAddress` reads the headers of proxies
    genReqId: ({ headers }) => requestId(headers['x-request-id']),
    exposeHeadRoutes: true, // RFC 9110 9.3.2: HEAD is GET without its content
    routerOptions: { maxParamLength: limits.header_bytes_max }, // a long id is an unknown id, not an unknown path
    connectionTimeout: bounds.silence_ms_max,
    requestTimeout: bounds.request_wait_ms_max,
    keepAliveTimeout: bounds.keep_alive_ms,
    http: {
      headersTimeout: bounds.headers_wait_ms_max,
      connectionsCheckingInterval: bounds.lateness_check_ms,
      maxHeaderSize: limits.header_bytes_max,
      requireHostHeader: false, // `createHttpApp` checks it: Node would refuse without a code
    },
    clientErrorHandler,
    bodyLimit: limits.body_bytes_max_default,
    return503OnClosing: false, // fastify's 503 has no code. A request on an open connection is served as its last one
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply: FastifyReply) => {
      logger.debug({ err: error, request_id: request.id }, 'request refused by the HTTP layer')
      // No hook runs here.
      reply
        .status(404)
        .header('x-request-id', request.id)
        .send(errorBody(unroutedCode(request.url), request.id))
    },
  }) as unknown as FastifyInstance
}

const requestIdShape = /^[\x21-\x7e]{1,128}$/

/** The id that the client gave, or a new one. */
const requestId = (given: string | string[] | undefined): string =>
  typeof given === 'string' && requestIdShape.test(given) ? given : randomUUID()

/** RFC 9112 3.2: one Host, which only HTTP/1.0 may leave out. Node keeps the first of several. */
function hostError({ headers, rawHeaders, httpVersion }: IncomingMessage): CodedError | undefined {
  if (headers.host === undefined) return httpVersion === '1.1' ? wrongHost('is missing') : undefined
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1 ? wrongHost('occurs more than once') : undefined
}

const wrongHost = (what: string) =>
  new CodedError('bad_json', { message: `The Host header ${what}.`, headers: { connection: 'close' } })

function addClientAddress(app: FastifyInstance, trusted_proxies: readonly string[]): void {
  const addressOf = clientAddress(trusted_proxies)
  app.decorateRequest('client_ip', '')
  app.addHook('onRequest', (request, _reply, done) => {
    request.client_ip = addressOf(request.socket.remoteAddress, request.headers['x-forwarded-for'])
    done()
  })
}

/** Warns that all clients of a proxy count as one address without the setting: nobody would notice it otherwise. */
function warnOfUnknownProxies(app: FastifyInstance, trusted_proxies: readonly string[], logger: Logger): void {
  const isTrusted = networkList(trusted_proxies)
  const count = countedLog(app, logger, 'X-Forwarded-For of unknown proxies ignored: see the setting')
  app.addHook('onRequest', ({ headers, socket }, _reply, done) => {
    const proxy = headers['x-forwarded-for'] === undefined ? null : normalAddress(socket.remoteAddress ?? '')
    if (proxy !== null && !isTrusted(proxy)) count({ proxy, setting: 'TRIBUTARY_TRUSTED_PROXIES' })
    done()
  })
}
