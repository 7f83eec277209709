import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import { redisNode } from '@tributary/testing/engines/redis'
import { Redis } from 'ioredis'
import { expect, it, vi } from 'vitest'
import { startWithTls } from './start-with-tls.ts'

const password = 'right-and-secret'
const wrong_password = 'this-is-not-it'

/** A cluster of one Redis that is called localhost, with a port for TLS. */
const startTlsRedis = () =>
  startWithTls(async (files) => {
    const [redis, [port]] = await Promise.all([startOwnEngine(redisNode), freePorts(1)])
    const root = new Redis(redis.url)
    await root.call('ACL', 'SETUSER', 'gateway', 'on', `>${password}`, '~*', '+@all')
    const set = (settings: Record<string, string>) => root.call('CONFIG', 'SET', ...Object.entries(settings).flat())
    await set({
      'tls-port': String(port),
      'tls-cert-file': files.cert,
      'tls-key-file': files.key,
      'tls-ca-cert-file': files.ca,
      'tls-auth-clients': 'no',
      'tls-cluster': 'yes',
    })
    await set({
      'cluster-announce-hostname': 'localhost',
      'cluster-announce-tls-port': String(port),
      'cluster-preferred-endpoint-type': 'hostname',
    })
    await root.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
    await vi.waitFor(async () => expect(await root.call('CLUSTER', 'INFO')).toContain('cluster_state:ok'), {
      timeout: 180_000,
    })
    root.disconnect()
    return { ...redis, address: `gateway:${password}@localhost:${port}` }
  })

await describeWith('redis with TLS', startTlsRedis, ({ files, address }) => {
  /** In a process of its own: Node reads `NODE_EXTRA_CA_CERTS` when it starts. */
  async function count(url: string, ca?: string): Promise<{ answer: unknown; logged: string }> {
    const program = join(import.meta.dirname, 'count-in-redis.ts')
    const env = { TRIBUTARY_REDIS_URL: url, ...(ca === undefined ? {} : { NODE_EXTRA_CA_CERTS: ca }) }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program], { env })
    for (const secret of [password, wrong_password]) expect(stdout + stderr).not.toContain(secret)
    return JSON.parse(stdout)
  }

  it.concurrent('counts over TLS with the authority of NODE_EXTRA_CA_CERTS', async () => {
    expect(await count(`rediss://${address}`, files.ca)).toMatchObject({ answer: { added: true }, logged: '' })
  })

  it.concurrent('counts over TLS in a cluster, whose nodes are known by their names', async () => {
    const counted = await count(`rediss://${address},rediss://${address}`, files.ca)
    expect(counted).toMatchObject({ answer: { added: true }, logged: '' })
  })

  it.concurrent.each([
    ['an authority that did not sign', () => count(`rediss://${address}`, files.other_ca), /self-signed certificate/],
    [
      'a name that is not in the certificate',
      () => count(`rediss://${address.replace('localhost', '127.0.0.1')}`, files.ca),
      /altnames/,
    ],
    ['TLS that is not asked for', () => count(`redis://${address}`), /redis is away/],
  ])('counts nothing and logs why: %s', async (_name, counting, reason) => {
    const { answer, logged } = await counting()
    expect(answer).toBe('redis away')
    expect(logged).toMatch(reason)
  })

  it.concurrent('refuses to start with a wrong password, which stays out of the log', async () => {
    const { answer } = await count(`rediss://${address.replace(password, wrong_password)}`, files.ca)
    expect(answer).toMatch(/^Redis can't be used: WRONGPASS [^\n]+$/)
  })
})
