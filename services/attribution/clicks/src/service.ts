import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { openLateDays } from '@tributary/erasure/late-days'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { redecisionsResource } from '@tributary/tables/attribution/postgres-redecisions'
import { stampsResource } from '@tributary/tables/raw/stamps'
import { attributionAppsResource, masterKeysResource } from '@tributary/tenancy/resources'
import { clickWriter } from './click-writer.ts'

/** Writes recorded clicks to ClickHouse and to the audit store, and has installs decided again that were before them. */
export const service = defineService({
  name: 'click-writer',
  resources: {
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
    stamps: stampsResource,
    // What a look-up misses is decided without its click.
    clickhouse: clickhouseEngine({ complete_reads: true }),
    broker: kafkaEngine(),
    redecisions: redecisionsResource,
    audit: s3Engine,
    attributionApps: attributionAppsResource,
  },
  consumers: [(deps) => clickWriter({ ...deps, late: openLateDays({ ...deps, pool: deps.postgres }) })],
})
