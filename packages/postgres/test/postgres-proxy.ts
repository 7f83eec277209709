import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to PostgreSQL that a test can cut, make silent and mend again. */
export async function openPostgresProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let mode: 'open' | 'cut' | 'silent' = 'open'
  const server = createServer((near) => {
    if (mode === 'cut') return near.destroy()
    const far = connect(Number(port), hostname)
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from)
      from.on('data', (bytes) => mode === 'silent' || to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: Object.assign(new URL(target), { port: String((server.address() as AddressInfo).port) }).href,
    cut() {
      mode = 'cut'
      breakAll()
    },
    /** Connections stay, nothing passes any more. */
    silence() {
      mode = 'silent'
    },
    repair() {
      mode = 'open'
      breakAll()
    },
    async close() {
      breakAll()
      server.close()
      await once(server, 'close')
    },
  }
}
