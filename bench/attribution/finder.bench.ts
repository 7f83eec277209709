import { gzipSync } from 'node:zlib'
import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { closeRecords, holdsOf, openRecord } from '@tributary/gateway/event-records'
import { installFinder } from '@tributary/install-finder/install-finder'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import pino from 'pino'
import { Registry } from 'prom-client'
import { type Aim, type Bench, type BenchRow, numberArgument } from '../bench.ts'
import { startCpuWatch } from '../writer/cpu-watch.ts'
import { openEmbeddedLog, openKafkaLog } from '../writer/engines.ts'
import { type EventLoad, envelopeOf, newAppId } from '../writer/events.ts'

const events_per_record = 50
/** Records that warm the code up. */
const warm_records = 2000

/** Measures what install-finder costs for an event that is no install, and for an install. */
export const bench: Bench = {
  name: 'finder',
  title: 'finder: log to facts, records of 50 events as SDKs send them (--kafka --records 20000 --partitions 4)',
  async run(args) {
    const records = numberArgument(args, 'records', 20_000)
    const partitions = numberArgument(args, 'partitions', 4)
    const log = args.includes('--kafka') ? await openKafkaLog() : await openEmbeddedLog(partitions)
    try {
      const read = { ...topics.eventsAccepted, partitions }
      const found = { ...topics.installsFound, partitions }
      await log.broker.applyTopics([read, found, deadLetterTopic(read), deadLetterTopic(found)])
      return await measure(log.broker, records, partitions)
    } finally {
      await log.close()
    }
  },
}

async function measure(broker: Broker, records: number, partitions: number) {
  const app_id = newAppId()
  const load = (seed: string): EventLoad => ({ app_id, seed, days: 1, until_ms: Date.now() })
  const rows: BenchRow[] = []
  const stage = async (name: string, count: number, makeRecord: (n: number) => OutgoingRecord) => {
    for (let at = 0; at < count; at += 200)
      await broker.publish(Array.from({ length: Math.min(200, count - at) }, (_, n) => makeRecord(at + n)))
    const spent = await runFinder(broker, app_id)
    const us = Math.round((spent.own / (count * events_per_record)) * 1e8) / 100
    rows.push({ records: name, count, seconds: Math.round(spent.seconds * 100) / 100, cpu_us_per_event: us })
    return us
  }
  const plain = (seed: string) => (n: number) => recordOf(load(seed), n, null, partitions)
  await stage('warming up', warm_records, plain('warm'))
  const passed = await stage('no install in any', records, plain('a'))
  const mixed = (n: number) => recordOf(load('b'), n, n % 100 === 0 ? 'app_install' : null, partitions)
  await stage('an install in each hundredth', records, mixed)
  await stage('an install in each', Math.ceil(records / 10), (n) => recordOf(load('c'), n, 'app_install', partitions))
  const aims: Aim[] = [
    { what: 'us of CPU for an event that is no install', aim: '<= 0.7', measured: passed, met: passed <= 0.7 },
  ]
  return { rows, aims }
}

/** A record as the gateway makes it of an SDK's gzip. */
function recordOf(load: EventLoad, n: number, first: string | null, partitions: number): OutgoingRecord {
  const { install_uuid, audit_key, events: some, ...facts } = envelopeOf(load, n)
  const events: Record<string, unknown>[] = Array.from({ length: events_per_record }, (_, i) => ({
    ...some[i % some.length],
    event_id: `${n}-${i}`,
  }))
  if (first !== null) Object.assign(events[0]!, { event_name: first })
  const body = Buffer.from(JSON.stringify({ events }))
  const sent = { gzip: gzipSync(body), inflated_bytes: body.length }
  const [record] = closeRecords(
    [openRecord(facts, install_uuid, { sent, holds: holdsOf(events) }, partitions)],
    audit_key,
  )
  return record!
}

/** Reads the log to its end. */
async function runFinder(broker: Broker, app_id: string) {
  const { name, topic } = consumers.installFinder
  const offsets = await broker.groupOffsets(name, topic.name)
  const left = new Map(offsets.map(({ partition, committed, end }) => [partition, { committed: committed ?? 0, end }]))
  const done = Promise.withResolvers<void>()
  const review = () => {
    if ([...left.values()].every(({ committed, end }) => committed >= end)) done.resolve()
  }
  const watched: Broker = {
    ...broker,
    consume: (options) =>
      broker.consume({
        ...options,
        async onChunk(chunk) {
          await options.onChunk(chunk)
          left.get(chunk.partition)!.committed = chunk.records.at(-1)!.offset + 1
          review()
        },
      }),
  }
  const watch = startCpuWatch()
  const running = await runConsumer({
    ...{ broker: watched, consumer: installFinder({ broker, apps: memoryAttributionApps([{ app_id }]) }) },
    ...{ logger: pino({ level: 'warn' }), registry: new Registry(), now: Date.now, fetch: { wait_ms_max: 50 } },
  })
  await done.promise
  const spent = watch()
  await running.close()
  return spent
}
