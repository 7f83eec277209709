import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import { defineService } from '@tributary/service-kit/service/define-service'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { openSessions } from '@tributary/tenancy/people/sessions/session-cache'
import { credentialsResource, cvSchemasResource, storeAppsResource } from '@tributary/tenancy/resources'
import { reportApi } from './app.ts'

/** Answers reports from ClickHouse and PostgreSQL: to server keys, and to people who are signed in. */
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
  settings: ['TRIBUTARY_ADMIN_URL', 'TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_TRUSTED_PROXIES'],
  routes: async (context) => {
    const { postgres: pool, config, elapsed } = context
    const sessions = openSessions({ ...context, pool })
    context.onClose('sessions', () => sessions.close())
    const { TRIBUTARY_ADMIN_URL: admin_url, TRIBUTARY_TRUSTED_PROXIES: trusted_proxies } = config
    const { TRIBUTARY_ADMIN_TOKEN: admin_token } = config
    const { clickhouse } = context
    const people = { pool, clickhouse, sessions, admin_url, admin_token, trusted_proxies }
    const raw = { pool, clickhouse }
    return reportApi({ ...context, people, raw, fxRates: openFxRates({ pool, now: elapsed }) })
  },
})
