import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { serverAgent } from '../../src/server/server-agent.ts'

it('a connection is kept though its process was busy for longer than connecting may take', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = serverAgent({ url: 'http://any', connect_timeout_ms: 20, max_open_connections: 1 })
  const socket = agent.createConnection({ host: '127.0.0.1', port }) as Socket
  await new Promise(setImmediate) // the attempt is under way
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  await once(socket, 'connect')
  expect(socket.destroyed).toBe(false)
  socket.destroy()
  server.close()
})
