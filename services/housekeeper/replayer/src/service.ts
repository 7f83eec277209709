import { topics } from '@tributary/contracts/topics'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { retryWhenAsked } from './dead-letters/retry-when-asked.ts'
import { replayWhenAsked } from './replay/replay-when-asked.ts'

/** Between two looks whether somebody asks for work. */
const look_pause_ms = 500

/** Puts records into the log again: what the tables lack, and dead letters that are retried. */
export const service = defineService({
  name: 'replayer',
  resources: {
    broker: kafkaEngine({ topics: [topics.eventsAccepted, topics.clicksRecorded, topics.postbacksReceived] }),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    audit: s3Engine,
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
  },
  jobs: [
    {
      name: 'replay',
      pause_ms: look_pause_ms,
      prepare: ({ postgres: pool, ...context }) => replayWhenAsked({ ...context, pool }),
    },
    {
      name: 'dead_retry',
      pause_ms: look_pause_ms,
      prepare: ({ postgres: pool, ...context }) => retryWhenAsked({ ...context, pool }),
    },
  ],
})
