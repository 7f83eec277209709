import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { stampsResource } from '@tributary/tables/raw/stamps'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { installWriter } from './install-writer.ts'

/** Writes decisions on installs to ClickHouse, so that the signs of each install sum up to 0 or 1. */
export const service = defineService({
  name: 'install-writer',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
    stamps: stampsResource,
  },
  consumers: [installWriter],
})
