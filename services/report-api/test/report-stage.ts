import { randomUUID } from 'node:crypto'
import type { EurRates } from '@tributary/contracts/currencies'
import type { ReportMeta, ReportName, ReportRow } from '@tributary/contracts/reports'
import { type EventRow, type RevenueRow, revenueRowColumns } from '@tributary/contracts/rows'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { appIdsAsKeys } from '@tributary/testing/builders'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryCvSchemas, memoryStoreApps } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { reportApi } from '../src/app.ts'

export type Query = Record<string, number | string | string[]>
export type RateOf = (lookup: { day: string; currency: string }) => EurRates | null

/** The service on an empty engine of its own. A server key is the id of its app. */
export async function openReports(given: { rateOf: RateOf; now: () => number; embedded?: true }) {
  const clickhouse = await openTestClickhouse()
  const logger = pino({ level: 'silent' })
  const registry = new Registry()
  const app = createHttpApp({ logger })
  const storeApps = memoryStoreApps()
  const cvSchemas = memoryCvSchemas()
  const postbacks = { storeApps, cvSchemas }
  const { embedded = false } = given
  const deps = { clickhouse, embedded, credentials: appIdsAsKeys, keyValue: memoryKeyValue(Date.now), registry, logger }
  await app.register(reportApi({ ...deps, ...postbacks, fxRates: { find: async () => given.rateOf }, now: given.now }))

  const request = (name: string, app_id: string, query: Query) => {
    const pairs = Object.entries(query).flatMap(([key, value]) =>
      [value].flat().map((one): [string, string] => [key, String(one)]),
    )
    const url = `/api/v1/reports/${name}?${new URLSearchParams(pairs)}`
    return app.inject({ url, headers: { authorization: `Bearer ${app_id}` } })
  }
  return {
    app,
    clickhouse,
    registry,
    storeApps,
    cvSchemas,
    request,
    /** A page of a report. */
    async ask<Name extends ReportName>(name: Name, app_id: string, query: Query) {
      const answer = await request(name, app_id, query)
      expect(answer.statusCode, answer.body).toBe(200)
      return answer.json<{ rows: ReportRow<Name>[]; meta: ReportMeta }>()
    },
    /** Takes the money of rows back, as the sweep of transactions does. */
    async cancel(rows: readonly EventRow[]) {
      if (rows.length === 0) return
      const lines = rows
        .map((row): RevenueRow => ({ ...row, amount_micros: Number(row.revenue_micros) }))
        .map((row) => JSON.stringify(revenueRowColumns.map((column) => row[column])))
      const block = { table: 'revenue_cancelled_v1', columns: revenueRowColumns, lines: lines.join('\n') }
      await clickhouse.insert({ ...block, token: randomUUID() })
    },
    async close() {
      await app.close()
      await clickhouse.close()
    },
  }
}
export type Reports = Awaited<ReturnType<typeof openReports>>
