import { limits } from '@tributary/contracts/limits'
import { openTraces } from '@tributary/service-kit/traces/open-traces'
import { expect, it } from 'vitest'
import { serviceUnderTest } from '../service/service-under-test.ts'
import { openTestTraces } from './test-traces.ts'

it('there are no traces without a collector', async () => {
  expect(await openTraces({}, serviceUnderTest().service)).toBeUndefined()
})

it('a collector that refuses spans is logged once, without the key that it gets, and the spans are counted', async () => {
  const { traces, close, counted, logged } = await openTestTraces(
    { OTEL_TRACES_SAMPLER: 'always_on', OTEL_EXPORTER_OTLP_HEADERS: 'api-key=secret-key' },
    'refuses',
  )
  for (let n = 0; n < limits.trace_spans_sent_max + 1; n += 1) traces.begin({ name: 'a', kind: 'server' })?.end({})
  await close()
  expect(await counted()).toEqual([`tributary_trace_spans_total{state="recorded"} ${limits.trace_spans_sent_max + 1}`])
  expect(logged().match(/the collector of traces takes no spans/g)).toHaveLength(1)
  expect(logged()).not.toContain('secret-key')
})

it('spans that a hanging collector does not take are bounded, and a stop waits a moment for it', async () => {
  const { traces, close, collector } = await openTestTraces({ OTEL_TRACES_SAMPLER: 'always_on' }, 'hangs')
  for (let n = 0; n < 10_000; n += 1) traces.begin({ name: 'a', kind: 'server' })?.end({})
  const began_ms = performance.now()
  await close()
  expect(performance.now() - began_ms).toBeLessThan(limits.trace_send_ms_max)
  const tried = collector.texts.flatMap((text) => text.match(/"spanId"/g) ?? []).length
  expect(tried).toBeGreaterThan(0)
  expect(tried).toBeLessThanOrEqual(limits.trace_spans_waiting_max + limits.trace_spans_sent_max)
})

it('work that a request leaves behind is not a part of it', async () => {
  const { traces, sent } = await openTestTraces({ OTEL_TRACES_SAMPLER: 'always_on' })
  const span = traces.begin({ name: 'request', kind: 'server' })!
  const { promise, resolve } = Promise.withResolvers<void>()
  const left = traces.within(span, async () => {
    expect(traces.active()).toBe(span)
    await promise
    return traces.active()
  })
  span.end({})
  resolve()
  expect(await left).toBeUndefined()
  await sent()
})
