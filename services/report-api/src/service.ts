import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { defineService } from '@tributary/service-kit/service/define-service'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { credentialsResource, cvSchemasResource, storeAppsResource } from '@tributary/tenancy/resources'
import { reportApi } from './app.ts'

/** Answers reports from ClickHouse and PostgreSQL. */
export const service = defineService({
  name: 'report-api',
  resources: {
    clickhouse: clickhouseEngine(),
    keyValue: redisEngine,
    postgres: postgresEngine,
    credentials: credentialsResource,
    storeApps: storeAppsResource,
    cvSchemas: cvSchemasResource,
  },
  needs: ['clickhouse'],
  routes: async (context) =>
    reportApi({ ...context, fxRates: openFxRates({ pool: context.postgres, now: context.elapsed }) }),
})
