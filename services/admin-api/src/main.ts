import { apiDocs } from '@tributary/api-docs/api-docs'
import { consumers } from '@tributary/contracts/consumers'
import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import { openKafka } from '@tributary/service-kit/engines/kafka'
import { openPostgresServer, requirePostgresSchema } from '@tributary/service-kit/engines/postgres'
import { openRedis } from '@tributary/service-kit/engines/redis'
import { openS3 } from '@tributary/service-kit/engines/s3'
import { serve } from '@tributary/service-kit/http/serve'
import { runService, type Service } from '@tributary/service-kit/service/run-service'
import { systemStatus } from '@tributary/service-kit/service/system-status'
import { requireMasterKey } from '@tributary/tenancy/secrets/require-master-key'
import { watchSecrets } from '@tributary/tenancy/secrets/unreadable-secrets'
import { adminApi } from './app.ts'
import { type Config, readConfig } from './config.ts'
import { startQuotaReconciliation } from './quota/start-quota-reconciliation.ts'

/** Companies, apps, keys and the state of the whole, on PostgreSQL and Kafka. */
await runService({ name: 'admin-api', readConfig, start })

async function start(config: Config, service: Service) {
  const { logger, registry, now } = service
  const pool = openPostgresServer(config, service)
  const [broker, clickhouse, keyValue, audit] = await Promise.all([
    openKafka(config, service),
    openClickhouse(config, service),
    openRedis(config, service),
    openS3(config, service),
  ])
  await Promise.all([requirePostgresSchema(pool), requireClickhouseSchema(clickhouse)])
  const masterKeys = await requireMasterKey(pool, config)
  watchSecrets(pool, masterKeys, service)
  const admin_token = config.TRIBUTARY_ADMIN_TOKEN
  startQuotaReconciliation({ pool, clickhouse, broker, keyValue }, service)
  await serve(config, service, async (app, health) => {
    const status = () => systemStatus({ consumers: Object.values(consumers), broker, health, now })
    const engines = { pool, broker, clickhouse, keyValue, audit }
    await app.register(apiDocs())
    await app.register(adminApi({ ...engines, masterKeys, admin_token, status, now, logger, registry }))
  })
}
