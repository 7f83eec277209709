import { setTimeout } from 'node:timers/promises'
import { topics } from '@tributary/contracts/topics'
import { findOlderIntents } from '@tributary/erasure/older-intents'
import { noteLog } from '@tributary/erasure/unread-events'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { redecisionsResource } from '@tributary/tables/attribution/postgres-redecisions'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { eraser } from './eraser.ts'
import { eraserMetrics } from './metrics.ts'
import { erasureJob } from './run/nightly.ts'
import { auditRewriting } from './run/rewrite-audit-objects.ts'

/** Maximum time until a requested run begins. */
const look_pause_ms = 1000

/** Erases installs from all stores, each night and by command. */
export const service = defineService({
  name: 'eraser',
  resources: {
    broker: kafkaEngine({ topics: [topics.erasuresRequested] }),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    keyValue: redisEngine,
    audit: s3Engine,
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    redecisions: redecisionsResource,
  },
  consumers: [eraser],
  jobs: [
    {
      name: 'erasures',
      pause_ms: look_pause_ms,
      prepare: ({ postgres: pool, ...context }) =>
        erasureJob({
          ...{ ...context, pool },
          audit: auditRewriting({ ...context, pool }),
          noteLog: () => noteLog(context.broker),
          findOlderWork: (number, installs) => findOlderIntents(context.broker, number, installs),
          pause: (ms, signal) => setTimeout(ms, undefined, { signal }),
          metrics: eraserMetrics(context.registry),
        }),
    },
  ],
})
