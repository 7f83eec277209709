import { join } from 'node:path'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { topics } from '@tributary/contracts/topics'
import { startTraceCollector } from '@tributary/testing/traces/trace-collector'
import { expect, it, onTestFinished } from 'vitest'
import { startTraced } from './traced-standalone.ts'

/** Headers of the first record of accepted events in a data folder that nothing uses. */
async function headersOfRecord(data_dir: string): Promise<string[]> {
  const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now: Date.now })
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const consumption = await broker.consume({
    ...{ group: 'look', topic: topics.eventsAccepted.name, bytes_min: 1, bytes_max: 1024 * 1024, wait_ms_max: 10 },
    onChunk: async ({ records }) => resolve(Object.keys(records[0]!.headers)),
  })
  const headers = await promise
  await consumption.close()
  await broker.close()
  return headers
}

it('without a collector nothing of OpenTelemetry is loaded, and no record names a trace', async () => {
  const { send, untilWritten, stop, loadedModules, data_dir } = await startTraced({ OTEL_TRACES_SAMPLER: 'always_on' })
  expect((await send({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })).status).toBe(200)
  await untilWritten()
  expect(await stop()).toBe(0)
  expect(loadedModules()).toEqual([])
  expect(await headersOfRecord(data_dir)).not.toContain('traceparent')
})

it('with a collector it is loaded, and a record names its trace', async () => {
  const collector = await startTraceCollector()
  onTestFinished(() => collector.close())
  const { send, untilWritten, stop, loadedModules, data_dir } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'always_on',
  })
  expect((await send()).status).toBe(200)
  await untilWritten()
  expect(await stop()).toBe(0)
  expect(loadedModules()).not.toEqual([])
  expect(await headersOfRecord(data_dir)).toContain('traceparent')
})
