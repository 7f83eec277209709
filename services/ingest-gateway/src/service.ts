import { randomBytes } from 'node:crypto'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { notingLateDays, openLateDays } from '@tributary/erasure/late-days'
import { clickhouseWhenThere } from '@tributary/service-kit/resources/clickhouse'
import { geoResource } from '@tributary/service-kit/resources/geo'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { defineService } from '@tributary/service-kit/service/define-service'
import { openCosts } from '@tributary/tables/costs/store-costs'
import { credentialsResource, liveSchemasResource, masterKeysResource } from '@tributary/tenancy/resources'
import { ingestGateway } from './app.ts'

/** Accepts events over HTTP: checks them, stores what came in, and publishes them to the log. Takes costs of ads to their table. */
export const service = defineService({
  name: 'ingest-gateway',
  resources: {
    broker: kafkaEngine({ topics: [topics.eventsAccepted, topics.erasuresRequested] }),
    audit: s3Engine,
    keyValue: redisEngine,
    postgres: postgresEngine,
    clickhouse: clickhouseWhenThere, // costs alone: events never wait for it
    masterKeys: masterKeysResource,
    credentials: credentialsResource,
    liveSchemas: liveSchemasResource,
    geo: geoResource(),
  },
  needs: ['audit', 'broker'], // credentials are remembered for a while, and counters fail open
  settings: ['TRIBUTARY_REQUESTS_IN_FLIGHT_MAX', 'TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX'],
  async routes(context) {
    const { broker, config, now, onClose, postgres: pool } = context
    const audit = notingLateDays(context.audit, openLateDays({ ...context, pool }))
    const gateway_id = randomBytes(4).toString('hex')
    const groupCommit = createGroupCommit({
      store: audit,
      now,
      linger_ms: limits.audit_group_linger_ms,
      bytes_max: limits.audit_group_bytes_max,
      gateway: gateway_id,
    })
    onClose('audit groups', () => groupCommit.close())
    return ingestGateway({
      ...context,
      audit,
      costs: openCosts({ ...context, pool }),
      groupCommit,
      gateway_id,
      partitions: await broker.partitionCount(topics.eventsAccepted.name),
      in_flight: {
        requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
        body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
      },
    })
  },
})
