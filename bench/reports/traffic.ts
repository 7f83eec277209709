import { setInterval as every } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { levels, now_ms } from './model.ts'

/** Standalone has as many (services/standalone/src/engines.ts). Each further partition adds an insert a second. */
const partitions = 2
/** Real logs wait for fuller batches, and the twin answers at once: with 200 ms it made five times as many inserts. */
const tick_ms = 1000
const events_of_request = 20
const topic = topics.eventsAccepted.name

export interface TrafficOptions {
  /** They share the events. */
  app_ids: readonly string[]
  events_per_s: number
}

/** Sends events of known installs of the first app through the event-writer until it is stopped; `stop` waits until all are written. */
export async function startTraffic(clickhouse: Clickhouse, options: TrafficOptions) {
  const installs = await clickhouse.query<{ install_uuid: string }>(
    `SELECT install_uuid FROM installs_v1 WHERE app_id = '${options.app_ids[0]}' LIMIT 20000`,
  )
  const broker = memoryBroker(partitions, () => now_ms)
  const consumer = eventWriter({ clickhouse })
  const logger = pino({ level: 'warn' })
  const running = await runConsumer({ broker, consumer, logger, registry: new Registry(), now: () => now_ms })
  const over = new AbortController()
  let sent = 0
  const sending = (async () => {
    const run = Math.floor(Math.random() * 1e9).toString(36)
    const requests = Math.round((options.events_per_s * tick_ms) / 1000 / events_of_request)
    try {
      for await (const _ of every(tick_ms, null, { signal: over.signal })) {
        const records = Array.from({ length: requests }, () => {
          sent += events_of_request
          const n = sent
          const { install_uuid } = installs[(n / events_of_request) % installs.length]!
          const partition = (n / events_of_request) % partitions
          const app_id = options.app_ids[Math.floor(n / events_of_request / partitions) % options.app_ids.length]!
          return {
            topic,
            partition,
            key: null,
            value: Buffer.from(JSON.stringify(requestOf(app_id, install_uuid, run, n))),
          }
        })
        await broker.publish(records)
      }
    } catch (error) {
      if (!over.signal.aborted) throw error
    }
  })()
  return {
    async stop() {
      over.abort()
      await sending
      const isDone = () =>
        Array.from({ length: partitions }, (_, n) => broker.isDone(consumer.name, topic, n)).every(Boolean)
      for await (const _ of every(20)) if (isDone()) break
      await running.close()
      return { sent }
    },
  }
}

/**
 * How old an event is when it arrives, in milliseconds, as phones have it: of 100 events 95 a minute at most, 4 three days, and one 90 days.
 * None is dated `now_ms`, which a window until now leaves out. Payments are every 50th event, of which a product modulo 100 makes none late:
 * its high bits decide.
 */
function ageOf(n: number): number {
  const percent = (Math.imul(n, 0x9e3779b1) >>> 16) % 100
  const longest_ms = percent < 95 ? 60_000 : percent < 99 ? 3 * day_ms : 90 * day_ms
  // Neighbours in the log are far apart in time. The product is a safe integer.
  return 1 + (((n % 1_000_000) * 7_654_321_987) % longest_ms)
}

function requestOf(app_id: string, install_uuid: string, run: string, first: number): Envelope {
  return {
    ...{ v: 1, company_id: 'co_bench', app_id, platform: 'android', source: 'sdk', install_uuid },
    ...{
      received_at_ms: Date.now(),
      sent_at_ms: Date.now() - 120,
      ip: '203.0.113.7',
      user_agent: 'UnityPlayer/6000.0.23f1',
    },
    ...{
      sdk: 'unity-2.1.0',
      sdk_platform: 'android',
      audit_key: `audit/2026/07/01/co_bench/${app_id}/${first}.jsonl.gz`,
    },
    events: Array.from({ length: events_of_request }, (_, i) => {
      const n = first + i
      const money = n % 50 === 0
      return {
        ...{ event_id: `${run}-${n}`, event_name: money ? 'purchase' : `level_${n % levels}` },
        event_ts_ms: now_ms - ageOf(n),
        ...(money && { revenue: 4.99, currency: 'EUR', transaction_id: `GPA.${run}-${n}` }),
        ...{ props: { level: n % 100, score: n * 7, mode: 'ranked' }, device: { os: 'android', os_version: '14' } },
      }
    }),
  }
}
