import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { createHealth } from '@tributary/service-kit/service/health'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { type FaultyProxy, openFaultyProxy } from '@tributary/testing/engines/faulty-proxy'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { reportApi } from '../src/app.ts'

const patience = { timeout: 180_000, interval: 50 }
const tenant = buildTenant()
const away = { status: 503, error: 'unavailable', again: '5' }
const works = { status: 200, error: undefined, again: undefined }

await describeWithOwnEngine('clickhouse', (engine) => {
  let proxy: FaultyProxy
  let clickhouse: Clickhouse
  let app: FastifyInstance
  beforeAll(async () => {
    proxy = await openFaultyProxy(engine.url)
    const times = { connect_timeout_ms: 1000, query_timeout_ms: 1000 }
    clickhouse = await openClickhouseServer({ url: proxy.url, max_open_connections: 4, ...times })
    await migrateClickhouse({ clickhouse })
    const logger = pino({ level: 'silent' })
    const registry = new Registry()
    app = createHttpApp({ logger })
    createHealth({
      checks: { analytics: () => clickhouse.checkHealth() },
      now: () => performance.now(),
      registry,
    }).routes(app)
    const credentials = memoryCredentials([tenant])
    const keyValue = memoryKeyValue(Date.now)
    const fxRates = { find: async () => () => null }
    await app.register(
      reportApi({ ...noPostbacks(), clickhouse, credentials, fxRates, keyValue, now: Date.now, registry, logger }),
    )
  })
  afterAll(async () => {
    await app.close()
    await clickhouse.close()
    await proxy.close()
  })

  async function report() {
    const headers = { authorization: `Bearer ${tenant.server_key}` }
    const answer = await app.inject({ method: 'GET', url: '/api/v1/reports/events', headers })
    const { error } = answer.json()
    return { status: answer.statusCode, error, again: answer.headers['retry-after'] }
  }
  const analytics = async () => (await app.inject('/health')).json().bindings.analytics.status
  const until = (expected: object, status: string) =>
    vi.waitFor(async () => {
      expect(await report()).toEqual(expected)
      expect(await analytics()).toBe(status)
    }, patience)

  it('answers 503 and when to come again while ClickHouse is dead, in error or hangs, and goes on alone', async () => {
    await until(works, 'ok')
    await engine.kill()
    expect(await report()).toEqual(away)
    await until(away, 'down')
    await engine.restart()
    await until(works, 'ok')

    proxy.mode = 'error'
    expect(await report()).toEqual(away)
    proxy.mode = 'lose_answer'
    expect(await report()).toEqual(away)
    proxy.mode = 'pass'
    await until(works, 'ok')

    await engine.pause()
    try {
      const answers = await Promise.all(Array.from({ length: 20 }, report))
      expect(answers).toEqual(answers.map(() => away))
      await until(away, 'down')
    } finally {
      engine.resume()
    }
    await until(works, 'ok')
  })
})
