import { randomUUID } from 'node:crypto'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import { keyValueSuite } from '@tributary/testkit/key-value-suite'
import { expect, it, vi } from 'vitest'
import { describeWithEngine, describeWithOwnEngine } from '../../../infra/engines/describe-with-engine.ts'

const logger = { warn: () => {} }

await describeWithEngine('redis', (redis) => {
  keyValueSuite('Redis', async () => ({
    open: () => openRedisKeyValue({ url: redis.url, logger }),
    dispose: async () => {},
  }))
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
    expect(await add()).toEqual({ added: true, total: 1 })
    redis.pause()
    expect(await refusedIn_ms()).toBeLessThan(2500)
    redis.resume()
    await vi.waitFor(() => keyValue.checkHealth(), { timeout: 20_000 })
    const { total } = await add() // the one that was cut off may have been counted: for a quota that is the safe side
    expect(total).toBeLessThanOrEqual(3)

    await redis.kill()
    expect(await refusedIn_ms()).toBeLessThan(2500)
    await redis.restart()
    await vi.waitFor(() => keyValue.checkHealth(), { timeout: 20_000 })
    expect((await add()).added).toBe(true)
    await keyValue.close()
  })

  it('refuses to open when nothing answers', async () => {
    await expect(openRedisKeyValue({ url: 'redis://127.0.0.1:1', logger })).rejects.toThrow()
  })
})
