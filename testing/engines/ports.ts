import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type ListenOptions, type Server } from 'node:net'

/**
 * Linux gives ports from 32768 on to connections: one of those may be gone before the engine that is to have it listens. The
 * `fetch` of Node refuses 10080.
 */
const [lowest, highest] = [10_081, 32_000]

/**
 * Different ports that are free now. No other call of any process gives them out while this process lives: a port may be asked
 * for seconds before an engine listens on it.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(lowest, highest)
    if ((await claim(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/** The claim is an abstract socket, which the kernel of Linux takes back when the process ends. Elsewhere there is none. */
async function claim(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const server = await listen({ path: `\0tributary-port-${port}` })
  server?.unref()
  return server !== null
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen({ port, host: '127.0.0.1' })
  if (server === null) return false
  server.close()
  await once(server, 'close')
  return true
}

/** Null when the address is in use. */
async function listen(address: ListenOptions): Promise<Server | null> {
  const server = createServer().listen(address)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
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
