import { expect, it } from 'vitest'
import { headersOfRecord, startTraced } from './traced-standalone.ts'

it('without a collector nothing of OpenTelemetry is loaded, and no record names a trace', async () => {
  const { send, untilWritten, stop, loadedModules, data_dir } = await startTraced({ OTEL_TRACES_SAMPLER: 'always_on' })
  expect((await send({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` })).status).toBe(200)
  await untilWritten()
  expect(await stop()).toBe(0)
  expect(loadedModules()).toEqual([])
  expect(await headersOfRecord(data_dir)).not.toContain('traceparent')
})
