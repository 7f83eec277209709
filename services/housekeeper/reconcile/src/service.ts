import { limits } from '@tributary/contracts/limits'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { reconcileHours } from './reconcile-hours.ts'
import { reconcileWhenAsked } from './reconcile-when-asked.ts'

/** Between two looks whether somebody asks for it. */
const look_pause_ms = 500

/** Compares audit store, log and tables for ever, and when somebody asks for it. It reads, and never changes what it compares. */
export const service = defineService({
  name: 'reconciler',
  settings: ['TRIBUTARY_RECONCILE_CORE_PERCENT'],
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    audit: s3Engine,
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
  },
  jobs: [
    {
      name: 'reconcile',
      pause_ms: limits.reconcile_pause_ms,
      prepare: ({ postgres: pool, config, ...context }) =>
        reconcileHours({ ...context, pool, core_share: config.TRIBUTARY_RECONCILE_CORE_PERCENT / 100 }),
    },
    {
      name: 'asked_reconcile',
      pause_ms: look_pause_ms,
      prepare: ({ postgres: pool, config, ...context }) =>
        reconcileWhenAsked({ ...context, pool, core_share: config.TRIBUTARY_RECONCILE_CORE_PERCENT / 100 }),
    },
  ],
})
