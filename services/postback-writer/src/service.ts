import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { defineService } from '@tributary/service-kit/service/define-service'
import { postbackKeysResource } from '@tributary/tenancy/postbacks/postback-keys'
import { judgeAgain } from './judge-again.ts'
import { postbackWriter } from './postback-writer.ts'

/** How often the job looks whether keys are an hour old, or whether they have changed. */
const look_pause_ms = 60_000

/** Verifies received postbacks and writes them to ClickHouse; judges them again when keys become known. */
export const service = defineService({
  name: 'postback-writer',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postbackKeys: postbackKeysResource,
  },
  consumers: [postbackWriter],
  jobs: [{ name: 'postback_judging', pause_ms: look_pause_ms, prepare: judgeAgain }],
})
