import { erasedRecordsEngine } from '@tributary/erasure/erased-records'
import { openLateDays } from '@tributary/erasure/late-days'
import { clickhouseEngine } from '@tributary/service-kit/engines/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/engines/kafka'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { s3Engine } from '@tributary/service-kit/engines/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { redecisionsEngine } from '@tributary/tables/attribution/postgres-redecisions'
import { attributionAppsEngine, masterKeysEngine } from '@tributary/tenancy/engines'
import { clickWriter } from './click-writer.ts'

/** Writes recorded clicks to ClickHouse and to the audit store, and has installs decided again that were before them. */
export const service = defineService({
  name: 'click-writer',
  engines: {
    postgres: postgresEngine,
    masterKeys: masterKeysEngine,
    erased: erasedRecordsEngine,
    // What a look-up misses is decided without its click.
    clickhouse: clickhouseEngine({ complete_reads: true }),
    broker: kafkaEngine(),
    redecisions: redecisionsEngine,
    audit: s3Engine,
    attributionApps: attributionAppsEngine,
  },
  consumers: [(deps) => clickWriter({ ...deps, late: openLateDays({ ...deps, pool: deps.postgres }) })],
})
