import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { openTraces, traceSettings } from '@tributary/service-kit/traces/open-traces'
import { traceClickhouse } from '@tributary/service-kit/traces/trace-clickhouse'
import { traceBatch, traceBroker } from '@tributary/service-kit/traces/trace-log'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { type Bench, type BenchRow, numberArgument } from '../bench.ts'
import { startCollectorThread } from './collector-thread.ts'

/** Without traces the traced code does nothing: the difference between two modes is the cost of traces alone. */
const noLog = { publish: async () => {} } as unknown as Broker
const noEngine = { insert: async () => {}, query: async () => [] } as unknown as Clickhouse
const requests_per_slice = 250
const batches_per_slice = 50
const batch_records = 1000
const warm_rounds = 20
const logger = pino({ level: 'silent' })

interface Mode {
  name: string
  app: FastifyInstance
  handleBatch(): Promise<void>
  /** CPU of all slices, us. Its clock has ticks of some ms, so sums alone are exact. */
  requests_us: number
  batches_us: number
}

/** Slices of requests and batches with traces off and on take turns in one thread, so that the machine's load hits all alike. */
export const bench: Bench = {
  name: 'traces',
  title: 'traces: CPU of a request with one record, and of a batch with one insert, traces off and on (--rounds 200)',
  async run(args) {
    const collector = await startCollectorThread()
    const closes: (() => Promise<void>)[] = [collector.close]
    const open = (ratio: number | null) => openMode(ratio, collector.url, closes)
    const modes = [await open(null), await open(0.01), await open(0.1), await open(1)]
    const rounds = numberArgument(args, 'rounds', 200)
    for (let round = -warm_rounds; round < rounds; round += 1) {
      for (const mode of modes.toSorted(() => Math.random() - 0.5)) {
        const requests_us = await cpuOf(() => sendRequests(mode.app))
        const batches_us = await cpuOf(() => handleBatches(mode))
        if (round < 0) continue // warm
        mode.requests_us += requests_us
        mode.batches_us += batches_us
      }
    }
    for (const close of closes.reverse()) await close()
    const off = modes[0]!
    const requests = rounds * requests_per_slice
    const batches = rounds * batches_per_slice
    const rows = modes.map(
      ({ name, requests_us, batches_us }): BenchRow => ({
        traces: name,
        request_us: round2(requests_us / requests),
        added_to_request_us: round2((requests_us - off.requests_us) / requests),
        batch_of_1000_us: round2(batches_us / batches),
        added_to_batch_us: round2((batches_us - off.batches_us) / batches),
      }),
    )
    const added = Number(rows[1]!.added_to_request_us)
    const aim = { what: 'added to a request at the default share, us', aim: '<= 4', measured: added, met: added <= 4 }
    return { rows, aims: [aim] }
  },
}

const round2 = (value: number): number => Math.round(value * 100) / 100

/** CPU of this thread, us: the collector is another. */
async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  const { user, system } = process.threadCpuUsage(before)
  return user + system
}

async function sendRequests(app: FastifyInstance): Promise<void> {
  for (let n = 0; n < requests_per_slice; n += 1) await app.inject({ method: 'POST', url: '/event', payload: '{}' })
}

async function handleBatches({ handleBatch }: Mode): Promise<void> {
  for (let n = 0; n < batches_per_slice; n += 1) await handleBatch()
}

async function openMode(ratio: number | null, url: string, closes: (() => Promise<void>)[]): Promise<Mode> {
  const env = ratio === null ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_TRACES_SAMPLER_ARG: String(ratio) }
  const process = { name: 'bench', logger, registry: new Registry() }
  const onClose = (_what: string, close: () => Promise<void>) => void closes.push(close)
  const traces = await openTraces(readSettings(env, traceSettings), { ...process, onClose })
  const app = createHttpApp({ logger, traces })
  const broker = traceBroker(noLog, traces)
  const clickhouse = traceClickhouse(noEngine, traces)
  const { eventWriter } = consumers
  const { name: topic } = eventWriter.topic
  const published = { topic, partition: 0, key: 'a', value: Buffer.from('{}'), headers: { facts: '0' } }
  app.post('/event', async () => {
    await broker.publish([published])
    return 'ok'
  })
  await app.ready()
  const records = Array.from({ length: batch_records }, (_, offset) => {
    const isRecorded = ratio !== null && offset % Math.round(1 / ratio) === 0
    const traceparent = { traceparent: `00-${String(offset + 1).padStart(32, '0')}-${'1'.repeat(16)}-01` }
    return { record: { ...published, offset, timestamp_ms: 0, headers: isRecorded ? traceparent : {} } }
  })
  const insert = () => clickhouse.insert({ table: 'events_raw_v1', columns: ['a'], lines: '', token: 'a' })
  const batch = { from: 0, to: batch_records - 1, records }
  return {
    name: ratio === null ? 'off' : String(ratio),
    app,
    handleBatch: () => traceBatch(traces, eventWriter, 0, batch, insert),
    requests_us: 0,
    batches_us: 0,
  }
}
