import type { Server } from 'node:net'
import { addressBlock } from './address-block.ts'
import { networkList, normalAddress } from './client-address.ts'
import { createShares } from './shares.ts'

/**
 * Lets one address have as many connections as it leaves free, and all together `connections_max`. The server closes
 * each further one at once. A trusted proxy has no share of its own, since the connections of many clients are its own.
 */
export function shareConnections(
  server: Server,
  { connections_max, trusted_proxies }: { connections_max: number; trusted_proxies: readonly string[] },
): void {
  server.maxConnections = connections_max
  const isTrusted = networkList(trusted_proxies)
  const shares = createShares(connections_max)
  server.on('connection', (socket) => {
    const address = normalAddress(socket.remoteAddress ?? '')
    const holders = address === null || isTrusted(address) ? [] : [addressBlock(address)]
    if (!shares.take(holders, 1)) {
      socket.destroy()
      return
    }
    socket.once('close', () => shares.give(holders, 1))
  })
}
