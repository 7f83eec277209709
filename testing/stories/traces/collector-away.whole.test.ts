import { startTraceCollector } from '@tributary/testing/traces/trace-collector'
import { expect, it, onTestFinished } from 'vitest'
import { startTraced } from './traced-standalone.ts'

it('a collector that hangs harms neither requests nor rows nor the stop', async () => {
  const collector = await startTraceCollector('hangs')
  onTestFinished(() => collector.close())
  const { send, report, untilWritten, stop, output } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'always_on',
  })
  const sent = [await send(), await send(), await send()]
  expect(sent.map(({ status }) => status)).toEqual([200, 200, 200])
  await untilWritten()
  expect(await report()).toBe(200)
  expect(await stop()).toBe(0) // a stop that misses its deadline is a kill
  expect(collector.texts).not.toEqual([])
  const logged = output().replaceAll(/^(?!\{).*$/gm, '') // what is printed shows the keys of the demo, once
  for (const secret of sent.flatMap(({ never }) => never.slice(0, -1))) expect(logged.includes(secret)).toBe(false)
})
