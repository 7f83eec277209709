import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { type ReportMeta, type ReportName, reportNames } from '@tributary/contracts/reports'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import { eurRates, type History, historyText, type Rate, type SentEvent } from '@tributary/testing/oracle/history'
import { insertInstalls, installRows } from '@tributary/testing/oracle/insert-verdicts'
import {
  first_ms,
  now_ms,
  partitions,
  randomHistory,
  randomRates,
  randomWindow,
} from '@tributary/testing/oracle/random-history'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'

const histories = Number(process.env.TRIBUTARY_TEST_HISTORIES ?? 50)
const topic = topics.eventsAccepted
const logger = pino({ level: 'silent' })
const now = () => now_ms
/** Histories, failures and their shrinking share this time. */
const run_ms_max = histories * 1000

let clickhouse: TestClickhouse
let app: ReturnType<typeof createHttpApp>
let rates: readonly Rate[] = []
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  app = createHttpApp({ logger })
  // The id of an app is its server key here.
  const findServerKey = async (app_id: string) => ({
    ...{ key_id: app_id, app_id, company_id: app_id, platform: 'ios' as const, allowed_events: [] },
    ...{ scopes: ['reports:read' as const], company_status: 'active' as const, monthly_quota: null },
  })
  const fxRates = { find: async () => eurRates(rates) }
  // A clock that runs, since a key may make 1000 requests a minute; a window is always given.
  const shared = { keyValue: memoryKeyValue(Date.now), now: Date.now, registry: new Registry(), logger }
  await app.register(reportApi({ ...shared, clickhouse, credentials: { findServerKey }, fxRates }))
})
afterAll(async () => {
  await app.close()
  await clickhouse.close()
})

/** Writes the events as the service does. */
async function writeEvents(events: readonly SentEvent[], app_ids: readonly string[], chunk: number): Promise<void> {
  const broker = memoryBroker(partitions, now)
  broker.chunk_records_max = chunk
  await broker.publish(
    events.map(({ app: at, install_uuid, partition, source, received_at_ms, ...event }) => {
      const envelope: Envelope = {
        ...{ v: 1, company_id: 'co_1', app_id: app_ids[at]!, platform: 'ios', source, install_uuid, received_at_ms },
        ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events: [event] },
      }
      return { topic: topic.name, partition, key: null, value: Buffer.from(JSON.stringify(envelope)) }
    }),
  )
  const consumer = eventWriter({ clickhouse })
  const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now })
  const isDone = () =>
    Array.from({ length: partitions }, (_, n) => broker.isDone(consumer.name, topic.name, n)).every(Boolean)
  const deadline = Date.now() + 20_000
  while (!isDone()) {
    if (Date.now() > deadline) throw new Error('not in time')
    await pause(1)
  }
  await running.close()
  await transactionSweep(clickhouse)()
}

/** Writes the rows of verdicts in another order than install-writer does, in several blocks, and some of them again. */
async function writeVerdicts({ decisions }: History, app_ids: readonly string[], mess: Mess): Promise<void> {
  const rows = app_ids.flatMap((app_id, at) =>
    installRows(
      app_id,
      decisions.filter((decision) => decision.app === at),
    ),
  )
  const key = (n: number) => (mess.shuffle * (n + 1) * 7919) % 101
  const shuffled = rows.map((row, n) => ({ row, n: key(n) })).toSorted((a, b) => a.n - b.n)
  const cut = Math.ceil(shuffled.length / mess.blocks)
  for (let from = 0; from < shuffled.length; from += cut) {
    const block = shuffled.slice(from, from + cut).map(({ row }) => row)
    await insertInstalls(clickhouse, block, randomBytes(10).toString('hex'))
  }
  const again = shuffled.filter(({ n }) => mess.again && n % 2 === 1).map(({ row }) => row)
  await insertInstalls(clickhouse, again, randomBytes(10).toString('hex'))
}

const randomMess = fc.record({
  chunk: fc.integer({ min: 8, max: 60 }),
  shuffle: fc.nat(50),
  blocks: fc.integer({ min: 1, max: 4 }),
  again: fc.boolean(),
})
type Mess = typeof randomMess extends fc.Arbitrary<infer Value> ? Value : never

async function ask(name: ReportName, app_id: string, query: Record<string, string | number>) {
  const params = new URLSearchParams(
    Object.entries(query).map(([field, value]): [string, string] => [field, `${value}`]),
  )
  const headers = { authorization: `Bearer ${app_id}` }
  const answer = await app.inject({ url: `/api/v1/reports/${name}?${params}`, headers })
  expect(answer.statusCode, answer.body).toBe(200)
  return answer.json<{ rows: Record<string, unknown>[]; meta: ReportMeta }>()
}

test(
  'whatever happened, and however it was written: every report equals loops over events and verdicts',
  async () => {
    const all = { since_ms: first_ms - 5 * day_ms, until_ms: now_ms }
    const plan = fc.record({
      history: randomHistory,
      mess: randomMess,
      rates: randomRates,
      corrected: randomRates,
      window: randomWindow,
      page: fc.record({ name: fc.constantFrom(...reportNames), pages: fc.integer({ min: 1, max: 4 }) }),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ history, mess, page, ...tables }) => {
        const window = tables.window(history)
        const app_ids = [0, 1].map(() => `app_${randomBytes(10).toString('hex')}`)
        await writeEvents(history.events, app_ids, mess.chunk)
        await writeVerdicts(history, app_ids, mess)

        const check = async (at: number, name: ReportName, asked: typeof window) => {
          const { rows, missing_rates } = expectedReports(history, at, rates)[name](asked)
          const { rows: found, meta } = await ask(name, app_ids[at]!, { ...asked, limit: 1000 })
          const story = `${name} of app ${at}, ${new Date(asked.since_ms).toISOString()} to ${new Date(asked.until_ms).toISOString()}`
          const text = `${story}\n${historyText(history, at, rates)}`
          expect({ rows: found, missing_rates: meta.missing_rates ?? [] }, text).toEqual({ rows, missing_rates })
          return rows
        }

        rates = tables.rates
        for (const name of reportNames) await check(0, name, all)
        rates = tables.corrected
        for (const name of reportNames) await check(0, name, window)
        await check(1, page.name, window)

        const rows = await check(0, page.name, all)
        const { missing_rates } = expectedReports(history, 0, rates)[page.name](all)
        const limit = Math.max(1, Math.ceil(rows.length / page.pages))
        const pages: unknown[] = []
        for (let offset = 0; offset <= rows.length; offset += limit) {
          const { rows: some, meta } = await ask(page.name, app_ids[0]!, { ...all, limit, offset })
          pages.push(...some)
          expect(meta.missing_rates ?? []).toEqual(missing_rates)
        }
        expect(pages).toEqual(rows)
      }),
      // A failure is told while there is time for it: shrinking would go on for long.
      { numRuns: histories, interruptAfterTimeLimit: run_ms_max },
    )
  },
  run_ms_max + 60_000,
)
