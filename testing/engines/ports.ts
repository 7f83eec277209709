import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Server } from 'node:net'

/**
 * Linux gives ports from 32768 on to connections: one of those may be gone before the engine that is to have it listens. The
 * `fetch` of Node refuses 10080.
 */
const [lowest, highest] = [10_081, 32_000]

/** Different ports that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listenSomewhere))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

async function listenSomewhere(): Promise<Server> {
  for (;;) {
    const server = createServer().listen(randomInt(lowest, highest), '127.0.0.1')
    try {
      await once(server, 'listening')
      return server
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

/** Rejects unless something accepts connections on the port. */
export async function probePort(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
