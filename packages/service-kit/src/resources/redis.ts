import type { KeyValue } from '@tributary/key-value/key-value'
import { openRedisKeyValue } from '@tributary/key-value/redis'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { toRefusal } from './engine-refused.ts'
import type { Resource } from './resource.ts'

export const redisSettings = ['TRIBUTARY_REDIS_URL'] as const
type RedisConfig = Settings<never, 'TRIBUTARY_REDIS_URL'>

/** Counters in Redis as the settings say; a Redis that is away is only logged. Throws `StartRefused` for a wrong password. */
export async function openRedis(config: RedisConfig, { logger, onClose, checks }: Service): Promise<KeyValue> {
  const keyValue = await openRedisKeyValue({ url: config.TRIBUTARY_REDIS_URL, logger }).catch((error: unknown) => {
    throw toRefusal('Redis', 'TRIBUTARY_REDIS_URL', error)
  })
  onClose('key-value', () => keyValue.close())
  checks.key_value = () => keyValue.checkHealth()
  return keyValue
}

/** Counters in Redis. */
export const redisEngine: Resource<KeyValue, never, 'TRIBUTARY_REDIS_URL'> = {
  binding: 'key_value',
  settings: [],
  required: redisSettings,
  open: openRedis,
}
