import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import type { Envelope } from '@tributary/contracts/envelope'
import type { ReportMeta, ReportName } from '@tributary/contracts/reports'
import { topics } from '@tributary/contracts/topics'
import type { ErasedRecords } from '@tributary/erasure/erased-records'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { installWriter } from '@tributary/install-writer/install-writer'
import { reportApi } from '@tributary/report-api/app'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { createSettler } from '@tributary/tables/settled/settler'
import { appIdsAsKeys } from '@tributary/testing/builders'
import { toDecision } from '@tributary/testing/engines/insert-verdicts'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import {
  type ClickRow,
  type CostUpload,
  type DecidedInstall,
  eurRates,
  type History,
  historyText,
  type Rate,
  type SentEvent,
} from '@tributary/testing/oracle/history'
import type { ExpectedReport, Question } from '@tributary/testing/oracle/question'
import { now_ms, partitions } from '@tributary/testing/oracle/random-history'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'

export const newAppId = () => `app_${randomBytes(10).toString('hex')}`

/**
 * The writers and the reports of the product on an embedded engine, with a log in memory. The clock of reports stands at
 * `now_ms`. Apps of a history are the indexes of `app_ids`; an app id is its own server key.
 */
export async function openReportStage({ erased }: { erased?: ErasedRecords } = {}) {
  const clickhouse = await openTestClickhouse()
  // The engine lets clicks expire by its own clock, and a history may be old.
  await clickhouse.command('ALTER TABLE clicks_raw_v1 REMOVE TTL')
  const logger = pino({ level: 'silent' })
  const now = () => now_ms
  const broker = memoryBroker(partitions, now)
  const consumers = [
    eventWriter({ clickhouse, ...(erased && { erased }) }),
    installWriter({ clickhouse, now, ...(erased && { erased }) }),
  ] as const
  const running = await Promise.all(
    consumers.map((consumer) =>
      runConsumer({ broker, consumer: consumer as never, logger, registry: new Registry(), now }),
    ),
  )
  const untilWritten = async () => {
    const deadline = Date.now() + 180_000
    const isDone = () =>
      consumers.every(({ name, topic }) =>
        Array.from({ length: partitions }, (_, n) => broker.isDone(name, topic.name, n)).every(Boolean),
      )
    while (!isDone()) {
      if (Date.now() > deadline) throw new Error('not in time')
      await pause(1)
    }
  }
  const watched: Pick<Clickhouse, 'query'> = {
    async query(sql, params) {
      await stage.beforeStatement(sql)
      return clickhouse.query(sql, params)
    },
  }
  const http = await openHttp({ ...clickhouse, ...watched }, () => stage.rates)
  const settle = createSettler({ clickhouse, logger })

  const stage = {
    clickhouse,
    broker,
    /** The rates that reports find from now on. */
    rates: [] as readonly Rate[],
    /** Called before each statement of a report. */
    beforeStatement: async (_sql: string): Promise<void> => {},
    /** Sends events and decisions of installs through the writers, then lets the best claims of transactions win. */
    async write(part: Part, app_ids: readonly string[]) {
      await broker.publish([
        ...part.events.map((event) => recordOfEvent(event, app_ids)),
        ...part.decisions.map((decision) => recordOfDecision(decision, app_ids)),
      ])
      await insertClicks(clickhouse, part.clicks ?? [], app_ids)
      await insertCosts(clickhouse, part.costs ?? [], app_ids)
      await untilWritten()
      if (part.events.length > 0) await transactionSweep(clickhouse)()
    },
    /** Settles every figure of every app that is due. */
    settle: () => settle({ quiet_ms: 0 }),
    ask: http.ask,
    /** Asks a report, holds its rows against the loops of the oracle, and gives these. */
    async compare({ history, app, app_id, note }: Compared, name: ReportName, question: Question) {
      const expected = expectedReports(history, app, stage.rates)[name](question)
      const found = await http.ask(name, app_id, question)
      const time = (ms: number) => new Date(ms).toISOString()
      const story = `${name} of app ${app}, ${time(question.since_ms)} to ${time(question.until_ms)}, ${JSON.stringify(question)}`
      expect(found, `${story}\n${note}\n${historyText(history, app, stage.rates)}`).toEqual(expected)
      return expected
    },
    async close() {
      await Promise.all(running.map((consumer) => consumer.close()))
      await http.close()
      await clickhouse.close()
    },
  }
  return stage
}
export type ReportStage = Awaited<ReturnType<typeof openReportStage>>

/** An app of a history, and what a failure should tell of it. */
interface Compared {
  history: History
  app: number
  app_id: string
  note: string
}

/** A decision with its place among all decisions of its app: a later one replaces those before it. */
export type PlacedDecision = DecidedInstall & { place: number }

/** Events and decisions in the order of their logs. */
export interface Part {
  events: readonly SentEvent[]
  decisions: readonly PlacedDecision[]
  clicks?: readonly ClickRow[]
  /** Each with the number of its upload. */
  costs?: readonly (CostUpload & { number: number })[]
}

/** Rows as their writers would have them. */
async function insertClicks(clickhouse: Clickhouse, clicks: readonly ClickRow[], app_ids: readonly string[]) {
  if (clicks.length === 0) return
  const lines = clicks.map(({ app, filtered, ...click }, offset) => {
    const row = {
      ...click,
      app_id: app_ids[app]!,
      filtered_reason: filtered ? 'bot' : null,
      ip: '',
      user_agent: '',
      device_hashes: [],
    }
    return clickLine(row as unknown as Click, { topic: 'clicks.recorded.v1@test', partition: 0, offset, index: 0 })
  })
  await clickhouse.insert({
    table: 'clicks_raw_v1',
    columns: clickColumns,
    lines: lines.join('\n'),
    token: randomBytes(10).toString('hex'),
  })
}

async function insertCosts(clickhouse: Clickhouse, costs: NonNullable<Part['costs']>, app_ids: readonly string[]) {
  if (costs.length === 0) return
  const columns = [
    'app_id',
    'day',
    'partner',
    'campaign',
    'ad_group',
    'country',
    'cost_micros',
    'currency',
    'as_of_ms',
    'number',
  ]
  const lines = costs.map(({ app, cost, ...one }) => {
    const row: Record<string, unknown> = { ...one, app_id: app_ids[app]!, cost_micros: Math.round(cost * 1e6) }
    return JSON.stringify(columns.map((column) => row[column] ?? ''))
  })
  await clickhouse.insert({
    table: 'costs_v1',
    columns,
    lines: lines.join('\n'),
    token: randomBytes(10).toString('hex'),
  })
}

function recordOfEvent(sent: SentEvent, app_ids: readonly string[]) {
  const { app, install_uuid, partition, source, received_at_ms, skew_ms, untimed, sent_at_ms, event_ts_ms, ...rest } =
    sent
  const event = untimed ? rest : { ...rest, event_ts_ms }
  const envelope: Envelope = {
    ...{ v: 1, company_id: 'co_1', app_id: app_ids[app]!, platform: 'ios', source, install_uuid, received_at_ms },
    ...(typeof skew_ms === 'number' && { sent_at_ms: received_at_ms - skew_ms }),
    ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: '', events: [event] },
    ...(sent_at_ms !== undefined && { sent_at_ms }),
  }
  return { topic: topics.eventsAccepted.name, partition, key: null, value: Buffer.from(JSON.stringify(envelope)) }
}

function recordOfDecision({ app, place, ...decision }: PlacedDecision, app_ids: readonly string[]) {
  const value = Buffer.from(JSON.stringify(toDecision(app_ids[app]!, decision, place)))
  return { topic: topics.installsAttributed.name, partition: 0, key: null, value }
}

/** The reports of the product over tables; an app id is its own server key. */
export async function openHttp(
  clickhouse: Parameters<typeof reportApi>[0]['clickhouse'],
  ratesOfNow: () => readonly Rate[],
) {
  const logger = pino({ level: 'silent' })
  const app = createHttpApp({ logger })
  const fxRates = { find: async () => eurRates(ratesOfNow()) }
  // A clock that runs, since a key may make 1000 requests a minute; a window is always given.
  const shared = { keyValue: memoryKeyValue(Date.now), now: Date.now, registry: new Registry(), logger }
  await app.register(reportApi({ ...shared, ...noPostbacks(), clickhouse, credentials: appIdsAsKeys, fxRates }))
  return {
    close: () => app.close(),
    async ask(name: ReportName, app_id: string, question: Question & { limit?: number; offset?: number }) {
      const { days, by, ...rest } = question
      const asked = {
        ...rest,
        ...(days && { days: days.join() }),
        ...(by && { by: by.join() }),
        limit: question.limit ?? 1000,
      }
      const pairs = Object.entries(asked).flatMap(([field, value]) =>
        [value].flat().map((one): [string, string] => [field, String(one)]),
      )
      const url = `/api/v1/reports/${name}?${new URLSearchParams(pairs)}`
      const answer = await app.inject({ url, headers: { authorization: `Bearer ${app_id}` } })
      expect(answer.statusCode, answer.body).toBe(200)
      const { rows, meta } = answer.json<{ rows: ExpectedReport['rows']; meta: ReportMeta }>()
      const { missing_rates = [], totals } = meta
      return { rows, missing_rates, ...(totals && { totals }) } satisfies ExpectedReport
    },
  }
}
