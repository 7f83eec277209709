import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { RedisConnector } from '../src/redis-client.ts'

it('a socket that fails twice, as with TLS, does not end the process', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const connector = new RedisConnector({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  const stream = await connector.connect(() => {})
  // The client listens once.
  const heard: Error[] = []
  stream.once('error', (error: Error) => heard.push(error))
  for (const message of ['self-signed certificate', 'tlsv1 alert decode error'])
    stream.emit('error', new Error(message))
  expect(heard).toHaveLength(1)
  stream.destroy()
})
