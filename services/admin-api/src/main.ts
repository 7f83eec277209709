import { consumers } from '@tributary/contracts/consumers'
import { openMasterKeys, readMasterKey } from '@tributary/postgres/master-keys'
import { openKafka } from '@tributary/service-kit/engines/kafka'
import { openPostgresServer, requirePostgresSchema } from '@tributary/service-kit/engines/postgres'
import { runService, type Service } from '@tributary/service-kit/run-service'
import { serve } from '@tributary/service-kit/serve'
import { systemStatus } from '@tributary/service-kit/system-status'
import { adminApi } from './app.ts'
import { type Config, readConfig } from './config.ts'

/** Companies, apps, keys and the state of the whole, on PostgreSQL and Kafka. */
await runService({ name: 'admin-api', readConfig, start })

async function start(config: Config, service: Service) {
  const { logger, registry, now } = service
  const pool = openPostgresServer(config, service)
  const broker = await openKafka(config, service)
  await requirePostgresSchema(pool)
  const masterKeys = openMasterKeys([readMasterKey(config.TRIBUTARY_MASTER_KEY)])
  const admin_token = config.TRIBUTARY_ADMIN_TOKEN
  await serve(config, service, async (app, health) => {
    const status = () => systemStatus({ consumers: Object.values(consumers), broker, health, now })
    await app.register(adminApi({ pool, masterKeys, admin_token, status, now, logger, registry }))
  })
}
