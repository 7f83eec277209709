import { CodedError } from '@tributary/contracts/errors'
import type { KeyValue } from './key-value.ts'
import { openRedisClient, type RedisClientOptions } from './redis-client.ts'
import {
  addCappedScript,
  appendScript,
  getScript,
  hitWindowScript,
  markScript,
  readScript,
  reconcileScript,
} from './redis-scripts.ts'

/**
 * Counters in Redis, shared by all gateways: each method is one script on one key, so it is atomic, and any key may live
 * on any node of a cluster. Redis keeps the time. While it is away, from the start on, every call rejects at once with
 * CodedError `unavailable`, and a call that was cut off is never sent again, since it may have been counted. Rejects to
 * open for a wrong password.
 */
export async function openRedisKeyValue(options: RedisClientOptions): Promise<KeyValue> {
  const redis = await openRedisClient(options)
  const script = (name: string, lua: string) => {
    redis.defineCommand(name, { numberOfKeys: 1, lua })
    const run = (redis as unknown as Record<string, (...words: (string | number)[]) => Promise<(number | string)[]>>)[
      name
    ]!
    return (...words: (string | number)[]) => run.apply(redis, words).catch(away)
  }
  const getMortal = script('tributaryGet', getScript)
  const addCapped = script('tributaryAddCapped', addCappedScript)
  const mark = script('tributaryMark', markScript)
  const reconcile = script('tributaryReconcile', reconcileScript)
  const hitWindow = script('tributaryHitWindow', hitWindowScript)
  const append = script('tributaryAppend', appendScript)
  const read = script('tributaryRead', readScript)
  let closing: Promise<unknown> | null = null

  return {
    is_local: false,
    async addCapped(key, n, cap, ttl_ms, mark_id) {
      const [added, total, id] = await addCapped(counterKey(key), n, cap ?? '', ttl_ms, mark_id ?? '')
      return { added: added === 1, total: Number(total), mark_id: id === '' ? null : String(id) }
    },
    async mark(key, mark_id) {
      const [total] = await mark(counterKey(key), mark_id)
      return total === undefined ? null : Number(total)
    },
    async reconcile(key, counted, mark_id, ttl_ms) {
      const [total] = await reconcile(counterKey(key), counted, mark_id ?? '', ttl_ms)
      return Number(total)
    },
    async hitWindow(key, limit, window_ms) {
      const [allowed, remaining, retry_after_ms] = await hitWindow(windowKey(key), limit, window_ms)
      return { allowed: allowed === 1, remaining: Number(remaining), retry_after_ms: Number(retry_after_ms) }
    },
    async get(key, ttl_ms) {
      const name = counterKey(key)
      const text = ttl_ms === undefined ? await redis.get(name).catch(away) : await getMortal(name, ttl_ms)
      return text === null ? null : Number.parseInt(String(text), 10)
    },
    async remove(key) {
      await redis.del(counterKey(key)).catch(away)
    },
    async append(key, text, max, ttl_ms) {
      await append(ringKey(key), text, max, ttl_ms)
    },
    async read(key, after, limit) {
      const [position, ...texts] = await read(ringKey(key), after, limit)
      return { texts: texts.map(String), position: Number(position) }
    },
    async checkHealth() {
      await redis.ping().catch(away)
    },
    async close() {
      closing ??= redis.quit().catch(() => redis.disconnect())
      await closing
    },
  }
}

function away(cause: unknown): never {
  throw new CodedError('unavailable', { message: 'redis away', cause })
}

const counterKey = (key: string) => `tributary:counter:${key}`
const windowKey = (key: string) => `tributary:window:${key}`
/** Its texts have this key with their position behind it. The braces keep them on one node of a cluster. */
const ringKey = (key: string) => `tributary:ring:{${key}}`
