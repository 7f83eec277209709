import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms } from '@tributary/contracts/limits'
import { skanReport } from '@tributary/report-api/reports/skan'
import { memoryCvSchemas, memoryStoreApps } from '@tributary/testing/twins/postback-apps'
import { percentile } from '../bench.ts'
import { watchCpu } from '../process/driven-process.ts'
import { big_item } from './prefill-postbacks.ts'

const requests = 3

/** Median time and CPU of the first page of the largest app, ms; `503` where the engine's limit of time ended it. */
export async function measureReport(clickhouse: Clickhouse, days: number): Promise<string> {
  const storeApps = memoryStoreApps()
  storeApps.add({ app_id: 'big', store_id: `${big_item}` })
  const sources = { clickhouse, storeApps, cvSchemas: memoryCvSchemas(), fxRates: { find: async () => () => null } }
  const until_ms = Date.now()
  const page = {
    group: 'day' as const,
    since_ms: until_ms - days * day_ms,
    until_ms,
    limit: 100,
    offset: 0,
    count_rows: true,
    filters: {},
  }
  const times = []
  const cpu = watchCpu()
  for (let n = 0; n < requests; n += 1) {
    const began = performance.now()
    try {
      await skanReport(sources, { app_id: 'big', ...page })
    } catch (error) {
      if (error instanceof CodedError) return error.code
      throw error
    }
    times.push(performance.now() - began)
  }
  return `${Math.round(percentile(times, 0.5))}, CPU ${Math.round((cpu() * 1000) / requests)}`
}
