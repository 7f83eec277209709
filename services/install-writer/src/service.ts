import { clickhouseEngine } from '@tributary/service-kit/engines/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { defineService } from '@tributary/service-kit/service/define-service'
import { installWriter } from './install-writer.ts'

/** Writes decisions on installs to ClickHouse, so that the signs of each install sum up to 0 or 1. */
export const service = defineService({
  name: 'install-writer',
  engines: { broker: kafkaEngine(), clickhouse: clickhouseEngine({ complete_reads: true }) },
  consumers: [installWriter],
})
