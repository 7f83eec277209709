import { randomBytes } from 'node:crypto'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { topics } from '@tributary/contracts/topics'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { postbackKeysResource } from '@tributary/tenancy/postbacks/postback-keys'
import { notifiedAppsResource } from '@tributary/tenancy/resources'
import { postbackGateway } from './app.ts'
import { auditGroups, notificationGroups } from './audit-groups.ts'
import { openStoreProofs } from './notifications/store-proofs.ts'

/** How often the job looks whether keys are an hour old. */
const look_pause_ms = 60_000

/**
 * Accepts postbacks of Apple's devices and notifications of stores over HTTP: stores what came in, and publishes it to the log.
 * Others verify postbacks, within the budgets; notifications are proven here.
 */
export const service = defineService({
  name: 'postback-gateway',
  resources: {
    broker: kafkaEngine({ topics: [topics.postbacksReceived, topics.storesNotified] }),
    audit: s3Engine,
    keyValue: redisEngine,
    postbackKeys: postbackKeysResource,
    postgres: postgresEngine,
    notifiedApps: notifiedAppsResource,
  },
  needs: ['audit', 'broker'], // counters fail open, apps are remembered for a while, and postbacks need none
  settings: [
    'TRIBUTARY_REQUESTS_IN_FLIGHT_MAX',
    'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX',
    'TRIBUTARY_APPLE_ROOTS_FILE',
    'TRIBUTARY_GOOGLE_CERTS_URL',
    'TRIBUTARY_PUBLIC_URL',
  ],
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
    const groups = { store: audit, now, gateway: gateway_id }
    const groupCommit = createGroupCommit({ ...groups, ...auditGroups })
    const ofNotifications = createGroupCommit({ ...groups, ...notificationGroups })
    onClose('audit groups of postbacks', () => groupCommit.close())
    onClose('audit groups of notifications', () => ofNotifications.close())
    return postbackGateway({
      ...context,
      ...{ groupCommit, notificationGroups: ofNotifications, gateway_id },
      partitions: await broker.partitionCount(topics.postbacksReceived.name),
      notification_partitions: await broker.partitionCount(topics.storesNotified.name),
      storeProofs: openStoreProofs(config, context),
      public_url: config.TRIBUTARY_PUBLIC_URL,
      in_flight: {
        requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
        body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
      },
    })
  },
})
