import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Envelope } from '@tributary/contracts/envelope'
import { EventsReport } from '@tributary/contracts/reports'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { loadFxRates, openFxRates } from '@tributary/tenancy/fx-rates'
import { buildTenant, memoryCredentials } from '@tributary/testing/builders'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { roundsOf } from '@tributary/testing/rounds'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day_ms, days, type FxTable, first_ms, fxTable, request, twinReport } from './money-twin.ts'

const topic = topics.eventsAccepted
const partitions = 3
const logger = pino({ level: 'silent' })
const now = () => first_ms + days * day_ms

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

/** Runs the writer until it crashes at the step that `crash` throws at, or has written everything. */
async function live(broker: MemoryBroker, steps_left: number): Promise<void> {
  let left = steps_left
  const crash = () => {
    if (left-- <= 0) throw new Error('crash')
  }
  const consumer = eventWriter({ clickhouse })
  const shared = { broker, consumer, logger, registry: new Registry(), now, crash }
  const running = await runConsumer({ ...shared, pauses: { first_ms: 1, most_ms: 2 } })
  const written = () =>
    Array.from({ length: partitions }, (_, n) => broker.isDone(consumer.name, topic.name, n)).every(Boolean)
  const deadline = Date.now() + 180_000
  while (left >= 0 && !written()) {
    if (Date.now() > deadline) throw new Error('not in time')
    await pause(1)
  }
  await running.close()
}

async function askReport(app_id: string, window: { since_ms: number; until_ms: number }) {
  const tenant = buildTenant()
  const credentials = memoryCredentials([{ ...tenant, key: { ...tenant.key, app_id } }])
  const app = createHttpApp({ logger })
  const fxRates = openFxRates({ pool: postgres.pool, now })
  const keyValue = memoryKeyValue(now)
  await app.register(
    reportApi({ ...noPostbacks(), clickhouse, credentials, fxRates, keyValue, now, registry: new Registry(), logger }),
  )
  const url = `/api/v1/reports/events?since_ms=${window.since_ms}&until_ms=${window.until_ms}&limit=1000`
  const answer = await app.inject({ url, headers: { authorization: `Bearer ${tenant.server_key}` } })
  await app.close()
  return EventsReport.parse(answer.json()).rows
}

async function loadRates(table: FxTable): Promise<void> {
  const text = (n: number) => (n / 100_000).toFixed(5)
  const rates = table.flatMap(({ day, USD, JPY }) => [
    { day, currency: 'USD', units: text(USD) },
    ...(JPY === null ? [] : [{ day, currency: 'JPY', units: text(JPY) }]),
  ])
  await postgres.pool.query('TRUNCATE fx_rates')
  await loadFxRates(postgres.pool, rates, { actor: 'test', request_id: 'r', now_ms: 0 })
}

const instant = fc.integer({ min: first_ms - day_ms, max: now() + day_ms })
const plan = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 14 }),
  resent: fc.array(fc.nat(), { maxLength: 4 }),
  lives: fc.array(fc.record({ steps: fc.integer({ min: 0, max: 20 }), chunk: fc.integer({ min: 1, max: 5 }) }), {
    maxLength: 3,
  }),
  chunk: fc.integer({ min: 1, max: 6 }),
  fx: fxTable,
  windows: fc.array(
    fc.tuple(instant, instant).filter(([a, b]) => a !== b),
    { minLength: 1, maxLength: 3 },
  ),
})

test('whatever is sent, again and by whom, however batches are cut and broken off: money equals a twin that counts one by one', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ requests, resent, lives, chunk, fx, windows }) => {
      const app_id = `app_${randomBytes(10).toString('hex')}`
      const broker = memoryBroker(partitions, now)
      const sent = [...requests, ...resent.map((n) => requests[n % requests.length]!)]
      await broker.publish(
        sent.map(({ install, source, received_ago_ms, events }) => {
          const envelope: Envelope = {
            ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source, install_uuid: `i-${install}` },
            ...{ received_at_ms: now() - received_ago_ms, ip: '', user_agent: '', sdk: '', sdk_platform: '' },
            ...{ audit_key: '', events },
          }
          const value = Buffer.from(JSON.stringify(envelope))
          return { topic: topic.name, partition: install % partitions, key: null, value }
        }),
      )
      for (const { steps, chunk: records } of lives) {
        broker.chunk_records_max = records
        await live(broker, steps)
      }
      broker.chunk_records_max = chunk
      await live(broker, Number.POSITIVE_INFINITY)
      await Promise.all([transactionSweep(clickhouse)(), transactionSweep(clickhouse)(), loadRates(fx)])
      const log = Array.from({ length: partitions }, (_, n) => broker.records(topic.name, n))
        .flat()
        .map(({ partition, value }) => ({ partition, envelope: JSON.parse(value.toString()) as Envelope }))
      const all = { since_ms: first_ms - day_ms, until_ms: now() + day_ms }
      const asked = windows.map(([a, b]) => ({ since_ms: Math.min(a, b), until_ms: Math.max(a, b) }))
      for (const window of [all, ...asked]) expect(await askReport(app_id, window)).toEqual(twinReport(log, fx, window))
      // A sweep of later histories would look at these transactions too.
      await clickhouse.command('TRUNCATE TABLE transaction_keys_v1')
    }),
    // A failure is reported while there is time for it: shrinking takes long.
    { numRuns: roundsOf(6), interruptAfterTimeLimit: 60_000 },
  )
})
