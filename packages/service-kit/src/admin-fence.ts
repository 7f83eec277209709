import { CodedError } from '@tributary/contracts/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { networkList, normalAddress } from './client-address.ts'
import { countedLog } from './counted-log.ts'
import { proxyHeaders } from './proxy-headers.ts'

export interface AdminFence {
  /** Addresses and CIDR ranges of the clients that may pass. */
  networks: readonly string[]
  /** Names, besides loopback and the address of the connection, that `Host` and `Origin` may hold. */
  hosts: readonly string[]
  /** As `createHttpApp` has them. */
  trusted_proxies: readonly string[]
  logger: Logger
}

/** What kept a request out, as it was, and the setting that would let it in. */
interface Fault {
  refused: 'proxy' | 'network' | 'host' | 'origin'
  value: string | undefined
  setting: string
}

const isFenced = (path: string | undefined): boolean =>
  path === '/metrics' || path === '/admin' || path?.startsWith('/admin/') === true

/**
 * `/admin`, whatever is below it, and `/metrics` answer only clients in `networks` that call this process by a name of
 * its own; all others get 404 `not_found`, as if nothing was there. A page of another site can't pass: DNS rebinding
 * puts its name into `Host`, a plain request puts it into `Origin`. The route that the router found is judged, not the
 * text of the path, so that no spelling of a path (`/%6detrics`) makes a difference.
 */
export function fenceAdmin(app: FastifyInstance, { networks, hosts, trusted_proxies, logger }: AdminFence): void {
  const isInside = networkList(networks)
  const isProxy = networkList(trusted_proxies)
  const named = new Set(hosts.map((name) => hostOf(name)))
  const refusals = countedLog(logger, 'requests to the admin paths refused: see the setting')
  const isOurs = (host: string | null, { localAddress = '' }: FastifyRequest['socket']) =>
    host !== null && (isLoopback(host) || named.has(host) || host === normalAddress(localAddress))
  /** What about a request keeps it out; null lets it pass. */
  const faultOf = ({ client_ip, socket, headers }: FastifyRequest): Fault | null => {
    const { host, origin } = headers
    // Whoever stands behind a proxy that nobody named, or that does not name its client, is not known.
    const remote = normalAddress(socket.remoteAddress ?? '')
    const isKnown = isProxy(remote) && headers['x-forwarded-for'] !== undefined
    if (proxyHeaders.some((name) => headers[name] !== undefined) && !isKnown)
      return { refused: 'proxy', value: remote ?? undefined, setting: 'TRIBUTARY_TRUSTED_PROXIES' }
    if (!isInside(client_ip)) return { refused: 'network', value: client_ip, setting: 'TRIBUTARY_ADMIN_NETWORKS' }
    if (!isOurs(hostOf(host), socket)) return { refused: 'host', value: host, setting: 'TRIBUTARY_ADMIN_HOSTS' }
    if (origin === undefined || isOurs(originOf(origin), socket)) return null
    return { refused: 'origin', value: origin, setting: 'TRIBUTARY_ADMIN_HOSTS' }
  }

  app.decorateRequest('isOperator', function isOperator() {
    return faultOf(this) === null
  })
  app.addHook('onRequest', (request, _reply, done) => {
    // Without a route the answer is 404, but for a path as it stands in a route, whose methods a 405 would tell.
    const path = request.is404 ? request.url.split('?', 1)[0] : request.routeOptions.url
    const fault = isFenced(path) ? faultOf(request) : null
    if (fault === null) return done()
    const { host, origin } = request.headers
    refusals.count({ ...fault, ip: request.client_ip, host, origin })
    done(new CodedError('not_found'))
  })
  app.addHook('onClose', async () => refusals.flush())
}

/** The name or address in `Host` or a setting, as URLs spell it; null for anything else. */
function hostOf(host: string | undefined): string | null {
  const shape = /^(?:\[[\da-f:.]+\]|[^\s:/?#@\\[\]]+)(?::\d{1,5})?$/i
  if (host === undefined || !shape.test(host) || !URL.canParse(`http://${host}`)) return null
  const { hostname } = new URL(`http://${host}`)
  return normalAddress(hostname.replace(/^\[(.*)\]$/, '$1')) ?? hostname
}

/** The name or address of an `Origin` of http or https; null for anything else. */
const originOf = (origin: string): string | null => hostOf(/^https?:\/\/(.*)$/i.exec(origin)?.[1])

const isLoopbackAddress = networkList(['127.0.0.0/8', '::1'])
const isLoopback = (host: string): boolean => host === 'localhost' || isLoopbackAddress(host)
