import { startTraceCollector } from '@tributary/testing/traces/trace-collector'
import { expect, it, onTestFinished } from 'vitest'
import { startTraced } from './traced-standalone.ts'

it.each(['hangs', 'refuses'] as const)(
  'a collector that %s harms neither requests nor rows nor the stop',
  async (mood) => {
    const collector = await startTraceCollector(mood)
    onTestFinished(() => collector.close())
    const { send, report, untilWritten, stop, output } = await startTraced({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'always_on',
    })
    const sent = await Promise.all(Array.from({ length: 20 }, () => send()))
    expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]))
    await untilWritten()
    expect(await report()).toBe(200)
    const began_ms = performance.now()
    expect(await stop()).toBe(0)
    expect(performance.now() - began_ms).toBeLessThan(15_000)
    expect(collector.texts).not.toEqual([])
    for (const secret of sent.flatMap(({ never }) => never.slice(0, -1))) expect(output().includes(secret)).toBe(false)
  },
)
