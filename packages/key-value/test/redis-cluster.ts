import type { OwnEngine } from '@tributary/testing/engines/engine'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { redisNode } from '@tributary/testing/engines/redis'
import { Redis } from 'ioredis'
import { vi } from 'vitest'

const slots = 16_384

/** A Redis Cluster of three masters; `url` names two of them, the third has to be found. */
export async function startRedisCluster(): Promise<{ url: string; nodes: OwnEngine[]; stop(): Promise<void> }> {
  const nodes = await Promise.all([1, 2, 3].map(() => startOwnEngine(redisNode)))
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())))
  const clients = nodes.map(({ url }) => new Redis(url))
  try {
    const [first] = clients
    const addresses = await Promise.all(clients.map(addressOf))
    for (const [index, client] of clients.entries()) {
      const [from, to] = [index, index + 1].map((n) => Math.floor((slots * n) / clients.length))
      await client.call('CLUSTER', 'ADDSLOTSRANGE', from!, to! - 1)
      await first!.call('CLUSTER', 'MEET', '127.0.0.1', addresses[index]!.port, addresses[index]!.bus)
    }
    await vi.waitFor(
      async () => {
        const states = await Promise.all(clients.map((client) => client.call('CLUSTER', 'INFO')))
        if (!states.every((state) => /cluster_state:ok.*cluster_known_nodes:3/s.test(String(state)))) throw new Error()
      },
      { timeout: 180_000, interval: 50 },
    )
  } catch (error) {
    await stop()
    throw error
  } finally {
    for (const client of clients) client.disconnect()
  }
  return { url: `${nodes[0]!.url},${nodes[1]!.url}`, nodes, stop }
}

async function addressOf(client: Redis) {
  const [, bus] = (await client.config('GET', 'cluster-port')) as [string, string]
  return { port: client.options.port!, bus }
}
