import { randomBytes } from 'node:crypto'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { openKafka, requireTopics } from '@tributary/service-kit/engines/kafka'
import { openPostgresServer, requirePostgresSchema } from '@tributary/service-kit/engines/postgres'
import { openRedis } from '@tributary/service-kit/engines/redis'
import { openS3 } from '@tributary/service-kit/engines/s3'
import { serve } from '@tributary/service-kit/http/serve'
import { runService, type Service } from '@tributary/service-kit/service/run-service'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { requireMasterKey } from '@tributary/tenancy/secrets/require-master-key'
import { watchSecrets } from '@tributary/tenancy/secrets/unreadable-secrets'
import { ingest_needs, ingestGateway } from './app.ts'
import { type Config, readConfig } from './config.ts'

/** The door on Kafka, S3, PostgreSQL and Redis. */
await runService({ name: 'ingest-gateway', readConfig, start })

async function start(config: Config, service: Service) {
  const { logger, registry, now, onClose } = service
  const pool = openPostgresServer(config, service)
  const [broker, audit, keyValue] = await Promise.all([
    openKafka(config, service),
    openS3(config, service),
    openRedis(config, service),
  ])
  await Promise.all([
    requireTopics(broker, [topics.eventsAccepted, topics.erasuresRequested]),
    requirePostgresSchema(pool),
  ])
  const masterKeys = await requireMasterKey(pool, config)
  watchSecrets(pool, masterKeys, service)
  const credentials = await openCredentials({ pool, masterKeys, now, logger, registry })
  onClose('credentials', () => credentials.close())
  const gateway_id = randomBytes(4).toString('hex')
  const groupCommit = createGroupCommit({
    store: audit,
    now,
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
    gateway: gateway_id,
  })
  onClose('audit groups', () => groupCommit.close())
  const { partitions } = topics.eventsAccepted
  const gateway = ingestGateway({
    credentials,
    audit,
    groupCommit,
    broker,
    keyValue,
    partitions,
    now,
    registry,
    logger,
    gateway_id,
    in_flight: {
      requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
      body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
    },
  })
  await serve(config, service, async (app) => void (await app.register(gateway)), ingest_needs)
}
