import { strict as assert } from 'node:assert'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { reportApi } from '@tributary/report-api/app'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { appIdsAsKeys } from '@tributary/testing/builders'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Question } from './brute-force.ts'
import { eurRates, now_ms } from './model.ts'

interface Asked {
  since_ms: number
  until_ms: number
  limit: number
  offset: number
}

export interface ReportClient {
  /** A page of a report of an app, and the time until its answer was parsed. */
  ask(question: Question, app_id: string, asked: Asked): Promise<{ rows: object[]; ms: number }>
  /** All rows of a report. */
  askAll(question: Question, app_id: string, window: { since_ms: number; until_ms: number }): Promise<object[]>
  close(): Promise<void>
}

/** The report API over an engine, in this process. An app id is its own server key. */
export async function openReportClient(clickhouse: Clickhouse): Promise<ReportClient> {
  const logger = pino({ level: 'silent' })
  const app = createHttpApp({ logger })
  // A clock that leaps lets a key make more requests a minute.
  let minutes = 0
  const keyValue = memoryKeyValue(() => now_ms + minutes++ * 60_000)
  const shared = { clickhouse, embedded: true, keyValue, registry: new Registry(), logger, now: () => now_ms }
  const fxRates = { find: async () => eurRates }
  await app.register(reportApi({ ...shared, ...noPostbacks(), credentials: appIdsAsKeys, fxRates }))

  async function ask({ report, asked: more }: Question, app_id: string, asked: Asked) {
    const started = performance.now()
    const query = new URLSearchParams(
      Object.entries({ ...more, ...asked }).map(([field, value]) => [field, `${value}`] as [string, string]),
    )
    const url = `/api/v1/reports/${report}?${query}`
    const answer = await app.inject({ url, headers: { authorization: `Bearer ${app_id}` } })
    assert.equal(answer.statusCode, 200, answer.body)
    const { rows } = answer.json<{ rows: object[] }>()
    return { rows, ms: performance.now() - started }
  }
  return {
    ask,
    async askAll(question, app_id, window) {
      const all: object[] = []
      for (;;) {
        const limit = limits.report_limit_max
        const { rows } = await ask(question, app_id, { ...window, limit, offset: all.length })
        all.push(...rows)
        if (rows.length < limit) return all
      }
    },
    close: () => app.close(),
  }
}
