import { clickhouseSettings } from '@tributary/service-kit/engines/clickhouse'
import { kafkaSettings } from '@tributary/service-kit/engines/kafka'
import { postgresSettings } from '@tributary/service-kit/engines/postgres'
import { redisSettings } from '@tributary/service-kit/engines/redis'
import { s3Settings } from '@tributary/service-kit/engines/s3'
import { httpSettings } from '@tributary/service-kit/http/serve'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { masterKeySettings } from '@tributary/tenancy/secrets/require-master-key'

/** The settings of the standalone process; the only reader of its environment. */
export const readConfig = () =>
  readSettings(process.env, [
    ...httpSettings,
    ...kafkaSettings,
    ...clickhouseSettings,
    ...postgresSettings,
    ...redisSettings,
    ...s3Settings,
    'TRIBUTARY_REQUESTS_IN_FLIGHT_MAX',
    'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX',
    'TRIBUTARY_DATA_DIR',
    'TRIBUTARY_DISK_FREE_MIN_BYTES',
    'TRIBUTARY_ADMIN_TOKEN',
    'TRIBUTARY_ADMIN_NETWORKS',
    'TRIBUTARY_ADMIN_HOSTS',
    ...masterKeySettings,
  ])
export type Config = ReturnType<typeof readConfig>
