import { Redis } from 'ioredis'
import type { KeyValue } from './key-value.ts'
import { addCappedScript, hitWindowScript, raiseToScript } from './redis-scripts.ts'

export interface RedisKeyValueOptions {
  /** `redis://` or, with TLS, `rediss://`; user, password and database number as usual in the address. */
  url: string
  logger: { warn(fields: object, message: string): void }
}

/** A counter is one round trip: what takes longer is away, and the gateway decides what that means. */
const connect_ms_max = 2000
const command_ms_max = 1000
const reconnect_first_ms = 50
const reconnect_most_ms = 2000

/**
 * Counters in Redis, shared by all gateways: each method is one script on one key, so it is atomic, and any key may live
 * on any node. Redis keeps the time. Rejects when Redis does not answer; while it is away every call rejects at once,
 * and a call that was cut off is never sent again, since it may have been counted.
 */
export async function openRedisKeyValue({ url, logger }: RedisKeyValueOptions): Promise<KeyValue> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: connect_ms_max,
    commandTimeout: command_ms_max,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries) => Math.min(reconnect_most_ms, reconnect_first_ms * 2 ** Math.min(tries, 10)),
  })
  redis.on('error', (err: Error) => logger.warn({ err }, 'redis connection failed'))
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    throw error
  }
  const script = (lua: string) => {
    const name = `tributary${scripts++}`
    redis.defineCommand(name, { numberOfKeys: 1, lua })
    return (key: string, ...args: (string | number)[]) =>
      (redis as unknown as Record<string, (...words: (string | number)[]) => Promise<number[]>>)[name]!(key, ...args)
  }
  let scripts = 0
  const addCapped = script(addCappedScript)
  const raiseTo = script(raiseToScript)
  const hitWindow = script(hitWindowScript)
  let closing: Promise<unknown> | null = null

  return {
    async addCapped(key, n, cap, ttl_ms) {
      const [added, total] = await addCapped(counterKey(key), n, cap ?? '', ttl_ms)
      return { added: added === 1, total: total! }
    },
    async raiseTo(key, total, ttl_ms) {
      const [raised] = await raiseTo(counterKey(key), total, ttl_ms)
      return raised!
    },
    async hitWindow(key, limit, window_ms) {
      const [allowed, remaining, retry_after_ms] = await hitWindow(windowKey(key), limit, window_ms)
      return { allowed: allowed === 1, remaining: remaining!, retry_after_ms: retry_after_ms! }
    },
    async get(key) {
      const total = await redis.get(counterKey(key))
      return total === null ? null : Number(total)
    },
    async checkHealth() {
      await redis.ping()
    },
    async close() {
      closing ??= redis.quit().catch(() => redis.disconnect())
      await closing
    },
  }
}

const counterKey = (key: string) => `tributary:counter:${key}`
const windowKey = (key: string) => `tributary:window:${key}`
