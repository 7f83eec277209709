import { clickhouseEngine } from '@tributary/service-kit/engines/clickhouse'
import { postgresEngine } from '@tributary/service-kit/engines/postgres'
import { redisEngine } from '@tributary/service-kit/engines/redis'
import { defineService } from '@tributary/service-kit/service/define-service'
import { credentialsEngine, cvSchemasEngine, storeAppsEngine } from '@tributary/tenancy/engines'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { reportApi } from './app.ts'

/** Answers reports from ClickHouse and PostgreSQL. */
export const service = defineService({
  name: 'report-api',
  engines: {
    clickhouse: clickhouseEngine(),
    keyValue: redisEngine,
    postgres: postgresEngine,
    credentials: credentialsEngine,
    storeApps: storeAppsEngine,
    cvSchemas: cvSchemasEngine,
  },
  needs: ['clickhouse'],
  routes: async (context) =>
    reportApi({ ...context, fxRates: openFxRates({ pool: context.postgres, now: context.elapsed }) }),
})
