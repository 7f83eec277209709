import type { Server } from 'node:net'
import { addressBlock, normalAddress } from '@tributary/contracts/networks'
import { networkList } from './client-address.ts'
import { createShares } from './shares.ts'

/**
 * Limits the connections of one address to as many as are left free, and of all addresses to `connections_max`. The
 * server closes each further one at once. A trusted proxy has no limit of its own: it carries the connections of many
 * clients.
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
