import { isIP, isIPv4 } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import { type Targets, targetFault } from '@tributary/domain/partner/targets'
import type { ResolveHost } from '@tributary/tenancy/resolve-host'
import { Agent, buildConnector } from 'undici'

/** A postback that is not sent: its host leads into a network that is closed to postbacks. */
export class TargetRefusedError extends Error {
  override name = 'TargetRefusedError'
}
/** A host without addresses. */
export class UnresolvedError extends Error {
  override name = 'UnresolvedError'
}

/** Connections to one origin; more requests wait. */
const connections_max = 64
/** Thousands of partners that are notified once in a while keep thousands of connections for this long. */
const idle_ms = 10_000

/** An agent whose connections go to the address that was checked: a name is resolved once for each connection. */
export function postbackAgent({ targets, resolve }: { targets: Targets; resolve: ResolveHost }): Agent {
  const connect = buildConnector({ timeout: limits.partner_try_ms_max, allowH2: false, maxCachedSessions: 1000 })
  return new Agent({
    ...{ connections: connections_max, pipelining: 1, allowH2: false },
    ...{ headersTimeout: limits.partner_try_ms_max, bodyTimeout: limits.partner_try_ms_max },
    ...{ keepAliveTimeout: idle_ms, keepAliveMaxTimeout: idle_ms },
    connect(options, callback) {
      const { hostname, protocol, host, port } = options
      const origin = new URL(`${protocol}//${host ?? `${hostname}:${port}`}`)
      findAddress(origin, { targets, resolve }).then(
        (address) =>
          connect({ ...options, hostname: address, servername: isIP(hostname) === 0 ? hostname : '' }, callback),
        (err: Error) => callback(err, null),
      )
    },
  })
}

async function findAddress(
  origin: URL,
  { targets, resolve }: { targets: Targets; resolve: ResolveHost },
): Promise<string> {
  const addresses = await resolve(origin.hostname).catch((cause: unknown) => {
    throw new UnresolvedError(`${origin.hostname} does not resolve`, { cause })
  })
  const fault = targetFault(targets, origin, addresses)
  if (fault !== null) throw new TargetRefusedError(fault)
  const of4 = addresses.filter(isIPv4)
  const open = of4.length > 0 ? of4 : addresses
  const address = open[Math.floor(Math.random() * open.length)]
  if (address === undefined) throw new UnresolvedError(`${origin.hostname} does not resolve`)
  return address
}
