import { setTimeout } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import type { Pool } from 'pg'
import { type RetentionJobDeps, retentionJob, retentionWhenAsked } from './retention-job.ts'

/** Longer than most steps of the eraser, and shorter than PostgreSQL lets a statement take. The job tries again. */
const raw_events_wait_ms = 5000

/** Between two looks whether somebody asks for it. */
const look_pause_ms = 500

type Context = Pick<RetentionJobDeps, 'clickhouse' | 'broker' | 'audit' | 'now' | 'logger' | 'registry'> & {
  postgres: Pool
}

const depsOf = ({ postgres: pool, ...context }: Context): RetentionJobDeps => ({
  ...{ ...context, pool, wait_ms: raw_events_wait_ms },
  pause: (ms, signal) => setTimeout(ms, undefined, { signal }).catch(() => {}),
})

/** Blanks addresses and deletes what is older than the settings of its company, each night and when somebody asks for it. */
export const service = defineService({
  name: 'retention',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    audit: s3Engine,
    postgres: postgresEngine,
  },
  jobs: [
    {
      name: 'retention',
      pause_ms: limits.retention_pause_ms,
      prepare: (context) => retentionJob(depsOf(context)),
    },
    {
      name: 'asked_retention',
      pause_ms: look_pause_ms,
      prepare: (context) => retentionWhenAsked(depsOf(context)),
    },
  ],
})
