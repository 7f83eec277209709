import { randomUUID } from 'node:crypto'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import { describeWithEngine, describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { keyValueSuite } from '@tributary/testing/suites/key-value-suite'
import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startRedisCluster } from './redis-cluster.ts'

const logger = { warn: () => {} }

/** Nobody can set the clock of a Redis here. What it keeps of a key moves instead: the distance is the same. */
async function moveTimes(client: Redis | Cluster, key: string, ms: number): Promise<void> {
  const [counter, window] = [`tributary:counter:${key}`, `tributary:window:${key}`]
  const hits = await client.lrange(window, 0, -1)
  const expiries = [await client.pexpiretime(counter), await client.pexpiretime(window)]
  for (const [at, hit] of hits.entries()) await client.lset(window, at, String(Number(hit) - ms))
  if (expiries[0]! > 0) await client.pexpireat(counter, expiries[0]! - ms)
  if (expiries[1]! > 0) await client.pexpireat(window, expiries[1]! - ms)
}

await describeWithEngine('redis', (redis) => {
  keyValueSuite('Redis', async () => {
    const client = new Redis(redis.url)
    return {
      open: () => openRedisKeyValue({ url: redis.url, logger }),
      moveClock: (key, ms) => moveTimes(client, key, ms),
      dispose: async () => client.disconnect(),
    }
  })
})

await describeWithOwnEngine('redis', (redis) => {
  it('rejects in a moment while Redis is away or silent, and counts on when it is back', async () => {
    const keyValue = await openRedisKeyValue({ url: redis.url, logger })
    const key = `test:${randomUUID()}`
    const add = () => keyValue.addCapped(key, 1, 10, 600_000)
    const refusedIn_ms = async () => {
      const started = performance.now()
      await expect(add()).rejects.toThrow()
      return performance.now() - started
    }
    expect(await add()).toMatchObject({ added: true, total: 1 })
    await redis.pause()
    expect(await refusedIn_ms()).toBeLessThan(20_000)
    redis.resume()
    await vi.waitFor(() => keyValue.checkHealth(), { timeout: 180_000 })
    const { total } = await add() // the one that was cut off may have been counted: for a quota that is the safe side
    expect(total).toBeLessThanOrEqual(3)

    await redis.kill()
    expect(await refusedIn_ms()).toBeLessThan(20_000)
    await redis.restart()
    await vi.waitFor(() => keyValue.checkHealth(), { timeout: 180_000 })
    expect((await add()).added).toBe(true)
    await keyValue.close()
  })

  it('opens while Redis is away or silent, and counts when it is there', async () => {
    for (const [takeAway, bringBack] of [
      [() => redis.kill(), () => redis.restart()],
      [() => redis.pause(), async () => redis.resume()],
    ] as const) {
      await takeAway()
      const keyValue = await openRedisKeyValue({ url: redis.url, logger })
      const add = () => keyValue.addCapped(`test:${randomUUID()}`, 1, 10, 600_000)
      await expect(add()).rejects.toMatchObject({ code: 'unavailable' })
      await bringBack()
      await vi.waitFor(async () => expect(await add()).toMatchObject({ added: true, total: 1 }), { timeout: 180_000 })
      await keyValue.close()
    }
  })

  it('refuses to open with a wrong password', async () => {
    const root = new Redis(redis.url)
    await root.call('ACL', 'SETUSER', 'gateway', 'on', '>right', '~*', '+@all')
    const open = (password: string) =>
      openRedisKeyValue({ url: redis.url.replace('//', `//gateway:${password}@`), logger })
    await expect(open('wrong')).rejects.toThrow('WRONGPASS')
    await (await open('right')).close()
    root.disconnect()
  })
})

await describeWithEngine('redis', () => {
  describe('a cluster of three nodes', () => {
    let cluster: Awaited<ReturnType<typeof startRedisCluster>>
    beforeAll(async () => {
      cluster = await startRedisCluster()
    })
    afterAll(() => cluster.stop())

    keyValueSuite('Redis Cluster', async () => {
      const client = new Cluster(cluster.url.split(',').map((url) => new URL(url).host))
      return {
        open: () => openRedisKeyValue({ url: cluster.url, logger }),
        moveClock: (key, ms) => moveTimes(client, key, ms),
        dispose: async () => client.disconnect(),
      }
    })

    it('rejects in a moment for the keys of a node that is away, and counts on when it is back', async () => {
      const keyValue = await openRedisKeyValue({ url: cluster.url, logger })
      const keys = Array.from({ length: 30 }, () => `test:${randomUUID()}`)
      const addAll = () => Promise.allSettled(keys.map((key) => keyValue.addCapped(key, 1, null, 600_000)))
      expect((await addAll()).filter(({ status }) => status === 'rejected')).toEqual([])
      await cluster.nodes[2]!.kill()
      const started = performance.now()
      const refused = (await addAll()).filter((result) => result.status === 'rejected')
      expect(performance.now() - started).toBeLessThan(20_000)
      expect(refused.length).toBeGreaterThan(0)
      for (const { reason } of refused) expect(reason).toMatchObject({ code: 'unavailable' })
      await cluster.nodes[2]!.restart()
      await vi.waitFor(async () => expect((await addAll()).filter(({ status }) => status === 'rejected')).toEqual([]), {
        timeout: 180_000,
        interval: 200,
      })
      await keyValue.close()
    })
  })
})
