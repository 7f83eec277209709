import { erasedRecordsEngine } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/engines/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { masterKeysEngine } from '@tributary/tenancy/engines'
import { installWriter } from './install-writer.ts'

/** Writes decisions on installs to ClickHouse, so that the signs of each install sum up to 0 or 1. */
export const service = defineService({
  name: 'install-writer',
  engines: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysEngine,
    erased: erasedRecordsEngine,
  },
  consumers: [installWriter],
})
