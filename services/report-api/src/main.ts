import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import { openPostgresServer, requirePostgresSchema } from '@tributary/service-kit/engines/postgres'
import { openRedis } from '@tributary/service-kit/engines/redis'
import { serve } from '@tributary/service-kit/http/serve'
import { runService, type Service } from '@tributary/service-kit/service/run-service'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { reportApi } from './app.ts'
import { type Config, readConfig } from './config.ts'

/** Reports on ClickHouse and PostgreSQL. */
await runService({ name: 'report-api', readConfig, start })

async function start(config: Config, service: Service) {
  const { logger, registry, now, onClose } = service
  const pool = openPostgresServer(config, service)
  const [clickhouse, keyValue] = await Promise.all([openClickhouse(config, service), openRedis(config, service)])
  await Promise.all([requireClickhouseSchema(clickhouse), requirePostgresSchema(pool)])
  const credentials = await openCredentials({ pool, now, logger, registry })
  onClose('credentials', () => credentials.close())
  const fxRates = openFxRates({ pool, now })
  const reports = reportApi({ clickhouse, credentials, fxRates, keyValue, now, registry, logger })
  await serve(config, service, async (app) => void (await app.register(reports)), ['analytics'])
}
