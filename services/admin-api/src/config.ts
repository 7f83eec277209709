import { kafkaSettings } from '@tributary/service-kit/engines/kafka'
import { postgresSettings } from '@tributary/service-kit/engines/postgres'
import { readSettings } from '@tributary/service-kit/read-settings'
import { httpSettings } from '@tributary/service-kit/serve'

/** The settings of this service; the only reader of its environment. */
export const readConfig = () =>
  readSettings(
    process.env,
    [...httpSettings, ...kafkaSettings, ...postgresSettings],
    ['TRIBUTARY_MASTER_KEY', 'TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_KAFKA_BROKERS', 'TRIBUTARY_POSTGRES_URL'],
  )
export type Config = ReturnType<typeof readConfig>
