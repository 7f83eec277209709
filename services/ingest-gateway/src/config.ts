import { kafkaSettings } from '@tributary/service-kit/engines/kafka'
import { postgresSettings } from '@tributary/service-kit/engines/postgres'
import { redisSettings } from '@tributary/service-kit/engines/redis'
import { s3Settings } from '@tributary/service-kit/engines/s3'
import { httpSettings } from '@tributary/service-kit/http/serve'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { masterKeySettings } from '@tributary/tenancy/secrets/require-master-key'

/** The settings of this service; the only reader of its environment. */
export const readConfig = () =>
  readSettings(
    process.env,
    [
      ...httpSettings,
      ...kafkaSettings,
      ...postgresSettings,
      ...redisSettings,
      ...s3Settings,
      ...masterKeySettings,
      'TRIBUTARY_REQUESTS_IN_FLIGHT_MAX',
      'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX',
    ],
    [
      'TRIBUTARY_MASTER_KEY',
      'TRIBUTARY_KAFKA_BROKERS',
      'TRIBUTARY_POSTGRES_URL',
      'TRIBUTARY_REDIS_URL',
      'TRIBUTARY_S3_BUCKET',
    ],
  )
export type Config = ReturnType<typeof readConfig>
