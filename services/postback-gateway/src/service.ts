import { randomBytes } from 'node:crypto'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { topics } from '@tributary/contracts/topics'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { postbackKeysResource } from '@tributary/tenancy/postbacks/postback-keys'
import { postbackGateway } from './app.ts'
import { auditGroups } from './audit-groups.ts'

/** How often the job looks whether keys are an hour old. */
const look_pause_ms = 60_000

/** Accepts postbacks of Apple over HTTP: stores what came in, and publishes it to the log. Others verify it, within the budgets. */
export const service = defineService({
  name: 'postback-gateway',
  resources: {
    broker: kafkaEngine({ topics: [topics.postbacksReceived] }),
    audit: s3Engine,
    keyValue: redisEngine,
    postbackKeys: postbackKeysResource,
  },
  needs: ['audit', 'broker'], // counters fail open
  settings: ['TRIBUTARY_REQUESTS_IN_FLIGHT_MAX', 'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX'],
  jobs: [
    {
      name: 'postback_gateway_keys',
      pause_ms: look_pause_ms,
      prepare:
        ({ postbackKeys }) =>
        () =>
          postbackKeys.refresh(),
    },
  ],
  async routes(context) {
    const { audit, broker, config, now, onClose } = context
    const gateway_id = randomBytes(4).toString('hex')
    const groupCommit = createGroupCommit({ store: audit, now, gateway: gateway_id, ...auditGroups })
    onClose('audit groups of postbacks', () => groupCommit.close())
    return postbackGateway({
      ...context,
      groupCommit,
      gateway_id,
      partitions: await broker.partitionCount(topics.postbacksReceived.name),
      in_flight: {
        requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
        body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
      },
    })
  },
})
