import { clickhouseSettings } from '@tributary/service-kit/engines/clickhouse'
import { postgresSettings } from '@tributary/service-kit/engines/postgres'
import { redisSettings } from '@tributary/service-kit/engines/redis'
import { httpSettings } from '@tributary/service-kit/http/serve'
import { readSettings } from '@tributary/service-kit/settings/read-settings'

/** The settings of this service; the only reader of its environment. */
export const readConfig = () =>
  readSettings(
    process.env,
    [...httpSettings, ...clickhouseSettings, ...postgresSettings, ...redisSettings],
    ['TRIBUTARY_CLICKHOUSE_URL', 'TRIBUTARY_POSTGRES_URL', 'TRIBUTARY_REDIS_URL'],
  )
export type Config = ReturnType<typeof readConfig>
