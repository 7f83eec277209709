import { type ReceivedSpan, startTraceCollector } from '@tributary/testing/traces/trace-collector'
import { expect, it, onTestFinished } from 'vitest'
import { headersOfRecord, startTraced } from './traced-standalone.ts'

it('an event is one trace from its request to its row, a report another, and neither holds a secret, an id or an address', async () => {
  const collector = await startTraceCollector()
  onTestFinished(() => collector.close())
  const { send, report, untilWritten, stop, loadedModules, data_dir } = await startTraced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of-the-collector',
    OTEL_TRACES_SAMPLER: 'always_on',
  })
  const chosen = 'a'.repeat(32)
  const { status, never } = await send({ traceparent: `00-${chosen}-${'b'.repeat(16)}-01` })
  expect(status).toBe(200)
  await untilWritten()
  expect(await report()).toBe(200)
  expect(await stop()).toBe(0) // sends what waits

  const { spans, texts, headers } = collector
  const find = (name: string) => spans.find((span) => span.name === name)!
  const isBelow = (span: ReceivedSpan | undefined, above: ReceivedSpan): boolean =>
    span !== undefined &&
    (span.span_id === above.span_id ||
      isBelow(
        spans.find(({ span_id }) => span_id === span.parent_id),
        above,
      ))
  const request = find('POST /event')
  expect(request).toMatchObject({
    ...{ service: 'standalone', kind: 2, parent_id: '', links: [chosen], failed: false },
    attributes: { 'http.route': '/event', 'http.response.status_code': 200 },
  })
  expect(request.trace_id).not.toBe(chosen)
  const send_span = find('send events.accepted.v1')
  expect(send_span).toMatchObject({ kind: 4, parent_id: request.span_id })
  const handled = spans.find(
    ({ name, attributes }) =>
      name === 'process events.accepted.v1' && attributes['messaging.consumer.group.name'] === 'event-writer',
  )!
  expect(handled).toMatchObject({ kind: 5, parent_id: send_span.span_id })
  const insert = find('INSERT events_raw_v1')
  expect(insert).toMatchObject({ kind: 3, parent_id: handled.span_id, trace_id: request.trace_id })
  // The verdict about the install comes of the same request, over further topics.
  expect(isBelow(find('INSERT installs_raw_v1') ?? find('INSERT installs_v1'), request)).toBe(true)

  const reported = find('GET /api/v1/reports/:report')
  expect(reported).toMatchObject({ kind: 2, parent_id: '', links: [] })
  expect(spans.filter(({ name, parent_id }) => /^SELECT/.test(name) && parent_id === reported.span_id)).not.toEqual([])

  for (const secret of never) expect(texts.filter((text) => text.includes(secret))).toEqual([])
  expect(headers.every(({ authorization }) => authorization === 'Bearer of-the-collector')).toBe(true)
  // What off.whole.test.ts does not find.
  expect(loadedModules()).not.toEqual([])
  expect(await headersOfRecord(data_dir)).toContain('traceparent')
  expect(spans.filter(({ name }) => /health|ready|metrics/.test(name))).toEqual([])
})
