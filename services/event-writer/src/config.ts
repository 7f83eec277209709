import { clickhouseSettings } from '@tributary/service-kit/engines/clickhouse'
import { kafkaSettings } from '@tributary/service-kit/engines/kafka'
import { httpSettings } from '@tributary/service-kit/http/serve'
import { readSettings } from '@tributary/service-kit/settings/read-settings'

/** The settings of this service; the only reader of its environment. */
export const readConfig = () =>
  readSettings(
    process.env,
    [...httpSettings, ...kafkaSettings, ...clickhouseSettings],
    ['TRIBUTARY_KAFKA_BROKERS', 'TRIBUTARY_CLICKHOUSE_URL'],
  )
export type Config = ReturnType<typeof readConfig>
