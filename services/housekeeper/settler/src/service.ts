import { limits } from '@tributary/contracts/limits'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { settleWhenAsked, settleWhenQuiet } from './settler-jobs.ts'

/** Between two looks whether somebody asks for it. */
const look_pause_ms = 500

/** Works out figures of closed days, which keep reports fast. */
export const service = defineService({
  name: 'settler',
  resources: { clickhouse: clickhouseEngine({ complete_reads: true }), postgres: postgresEngine },
  jobs: [
    {
      name: 'settler',
      pause_ms: limits.settle_pause_ms,
      prepare: ({ postgres: pool, ...context }) => settleWhenQuiet({ ...context, pool }),
    },
    {
      name: 'asked_settler',
      pause_ms: look_pause_ms,
      prepare: ({ postgres: pool, ...context }) => settleWhenAsked({ ...context, pool }),
    },
  ],
})
