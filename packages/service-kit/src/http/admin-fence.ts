import { CodedError } from '@tributary/contracts/errors'
import { normalAddress } from '@tributary/contracts/networks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { pathOf } from './allowed-methods.ts'
import { networkList, proxyHeaders } from './client-address.ts'
import { countedLog } from './counted-log.ts'

export interface AdminFence {
  /** Addresses and CIDR ranges of the clients that may pass. */
  networks: readonly string[]
  /** Names that `Host` and `Origin` may hold, besides loopback and the address of the connection. */
  hosts: readonly string[]
  /** The same list that `createHttpApp` gets. */
  trusted_proxies: readonly string[]
  logger: Logger
}

/** Why a request may not pass: the value that is wrong, and the setting that would allow it. */
interface Refusal {
  refused: 'proxy' | 'network' | 'host' | 'origin'
  value: string | undefined
  setting: string
}

/**
 * `/admin`, everything below it and `/metrics` answer only clients in `networks` that call this process by one of its own
 * names. All others get 404 `not_found`, as if nothing was there. A page of another site can't pass: DNS rebinding puts
 * the name of that site into `Host`, a plain request puts it into `Origin`. The fence looks at the route that was found
 * rather than at the path, which has several spellings (`/%6detrics`).
 */
export function fenceAdmin(app: FastifyInstance, fence: AdminFence): void {
  const findRefusal = createCheck(fence)
  const countRefusal = countedLog(app, fence.logger, 'requests to the admin paths refused: see the setting')
  app.decorateRequest('isOperator', function isOperator() {
    return findRefusal(this) === null
  })
  app.addHook('onRequest', (request, _reply, done) => {
    // Without a route the answer is 404 anyway, except for a path whose other methods a 405 would reveal.
    const path = request.is404 ? pathOf(request.url) : request.routeOptions.url
    const refusal = isFenced(path) ? findRefusal(request) : null
    if (refusal === null) return done()
    const { host, origin } = request.headers
    countRefusal({ ...refusal, ip: request.client_ip, host, origin })
    done(new CodedError('not_found'))
  })
}

/** Whether a path belongs to operators. */
export const isFenced = (path: string | undefined): boolean =>
  path === '/metrics' || path === '/admin' || path?.startsWith('/admin/') === true

/** Makes the check of a request: null when it may pass. */
function createCheck({ networks, hosts, trusted_proxies }: AdminFence): (request: FastifyRequest) => Refusal | null {
  const isAllowed = networkList(networks)
  const isTrustedProxy = networkList(trusted_proxies)
  const ownNames = new Set(hosts.map((name) => hostOf(name)))
  const isOwn = (host: string | null, { localAddress = '' }: FastifyRequest['socket']) =>
    host !== null && (isLoopback(host) || ownNames.has(host) || host === normalAddress(localAddress))

  return ({ client_ip, socket, headers }) => {
    const { host, origin } = headers
    // The client is unknown behind a proxy that is not trusted, or that does not name the client.
    const proxy = normalAddress(socket.remoteAddress ?? '')
    const isClientKnown = isTrustedProxy(proxy) && headers['x-forwarded-for'] !== undefined
    if (proxyHeaders.some((name) => headers[name] !== undefined) && !isClientKnown)
      return { refused: 'proxy', value: proxy ?? undefined, setting: 'TRIBUTARY_TRUSTED_PROXIES' }
    if (!isAllowed(client_ip)) return { refused: 'network', value: client_ip, setting: 'TRIBUTARY_ADMIN_NETWORKS' }
    if (!isOwn(hostOf(host), socket)) return { refused: 'host', value: host, setting: 'TRIBUTARY_ADMIN_HOSTS' }
    if (origin === undefined || isOwn(originOf(origin), socket)) return null
    return { refused: 'origin', value: origin, setting: 'TRIBUTARY_ADMIN_HOSTS' }
  }
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
