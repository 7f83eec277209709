import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { openTraces, traceSettings } from '@tributary/service-kit/traces/open-traces'
import { type CollectorMood, startTraceCollector } from '@tributary/testing/traces/trace-collector'
import { onTestFinished } from 'vitest'
import { serviceUnderTest } from '../service/service-under-test.ts'

/** Traces that go to a collector of this test. `sent` closes them, and gives the spans that arrived. */
export async function openTestTraces(settings: Record<string, string>, mood: CollectorMood = 'takes') {
  const collector = await startTraceCollector(mood)
  onTestFinished(() => collector.close())
  const { service, logged, close } = serviceUnderTest()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, ...settings }
  const traces = await openTraces(readSettings(env, traceSettings), service)
  if (traces === undefined) throw new Error('no traces')
  const counted = async () => (await service.registry.metrics()).match(/^tributary_trace_spans_total.*$/gm) ?? []
  const sent = async () => {
    await close()
    return collector.spans
  }
  return { traces, service, collector, logged, close, counted, sent }
}

/** A `traceparent` of a stranger. */
export const traceOf = (digit: string, sampled = true) =>
  `00-${digit.repeat(32)}-${digit.repeat(16)}-0${sampled ? 1 : 0}`
