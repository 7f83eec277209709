import { type ReportApiDeps, reportApi } from '@tributary/report-api/app'
import { appIdsAsKeys } from '@tributary/testing/builders'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { Registry } from 'prom-client'
import type { AdminApiDeps } from '../../src/deps.ts'

/** report-api on the same port for the same people, with these tables. A server key is the id of its app. */
export const reportsBeside = (
  { pool, sessions, admin_token, now, logger }: AdminApiDeps,
  clickhouse: NonNullable<ReportApiDeps['people']>['clickhouse'],
  fxRates: ReportApiDeps['fxRates'] = { find: async () => () => null },
) =>
  reportApi({
    ...noPostbacks(),
    ...{ clickhouse, credentials: appIdsAsKeys, fxRates, now, logger, registry: new Registry() },
    keyValue: memoryKeyValue(now),
    people: { pool, clickhouse, sessions, admin_token },
  })
