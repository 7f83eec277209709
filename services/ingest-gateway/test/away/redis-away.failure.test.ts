import type { KeyValue } from '@tributary/key-value/key-value'
import { openRedis } from '@tributary/service-kit/resources/redis'
import type { Service } from '@tributary/service-kit/service/run-service'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, expect, it, vi } from 'vitest'
import { gist, openGatewayOver, patience } from '../gateway-over.ts'

const taken = { status: 200, error: undefined, again: false }

await describeWithOwnEngine('redis', (redis) => {
  const closes: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closes.splice(0).reverse()) await close()
  })

  /** A gateway as its process opens it. */
  async function open() {
    const checks: Service['checks'] = {}
    const service: Service = {
      name: 'ingest-gateway',
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      now: Date.now,
      elapsed: () => performance.now(),
      onClose: (_what, close) => closes.push(close),
      checks,
      troubles: [],
      endNow() {},
    }
    const keyValue: KeyValue = await openRedis(
      { TRIBUTARY_REDIS_URL: redis.url } as Parameters<typeof openRedis>[0],
      service,
    )
    const gateway = await openGatewayOver({ keyValue, checks })
    closes.push(() => gateway.close())
    const isCounted = async () => 'ratelimit-limit' in (await gateway.everyRoute())[1].headers
    return {
      gateway,
      until: (status: 'ok' | 'down') =>
        vi.waitFor(async () => expect(await gateway.health('key_value')).toBe(status), patience),
      untilCounted: () => vi.waitFor(async () => expect(await isCounted()).toBe(true), patience),
    }
  }

  it('starts and accepts while Redis is dead, and counts as soon as it is there', async () => {
    await redis.kill()
    const { gateway, until, untilCounted } = await open()
    expect((await gateway.everyRoute()).map(gist)).toEqual([taken, taken, taken])
    await until('down')
    await redis.restart()
    await until('ok')
    await untilCounted()
  })

  it('goes on accepting when Redis dies under it, and counts again when it is back', async () => {
    const { gateway, until, untilCounted } = await open()
    await untilCounted()
    await redis.kill()
    for (let n = 0; n < 20; n += 1) expect((await gateway.everyRoute()).map(gist)).toEqual([taken, taken, taken])
    await until('down')
    await redis.restart()
    await until('ok')
    await untilCounted()
  })

  it('lets one request a second wait for a Redis that hangs, and none of the others', async () => {
    const { gateway, until, untilCounted } = await open()
    await untilCounted()
    await redis.pause()
    try {
      const started = performance.now()
      for (let n = 0; n < 100; n += 1) expect((await gateway.everyRoute()).map(gist)).toEqual([taken, taken, taken])
      // 300 requests that each waited for the time-out of a second would take minutes.
      expect(performance.now() - started).toBeLessThan(60_000)
      await until('down')
    } finally {
      redis.resume()
    }
    await until('ok')
    await untilCounted()
  })
})
