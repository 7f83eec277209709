import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { limits } from '@tributary/contracts/limits'
import { Counter } from 'prom-client'
import type { OpenSpan, SpanStart, TracedProcess, Traces } from './traces.ts'

export interface OpenTelemetryOptions extends TracedProcess {
  /** Takes OTLP as JSON. */
  url: string
  headers: Record<string, string>
  /** Share of new traces that are recorded. */
  ratio: number
}

/**
 * Traces that go to a collector over OTLP. Spans wait for it in a queue of `limits.trace_spans_waiting_max`, and are lost when
 * it is full or the collector fails: nothing else ever waits for it, besides a stop for `limits.trace_close_ms_max`.
 */
export function openOpenTelemetry(options: OpenTelemetryOptions): Traces {
  const { name, ratio, registry, onClose } = options
  const counter = new Counter({
    name: 'tributary_trace_spans_total',
    help: 'Spans that were recorded, and those of them that the collector took.',
    labelNames: ['state'],
    registers: [registry],
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': name, 'service.namespace': 'tributary' }),
    sampler: new AlwaysOnSampler(), // `begin` decides, which spares other requests all work
    spanLimits: { linkCountLimit: limits.trace_links_max, attributeValueLengthLimit: limits.trace_text_chars_max },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: countedExporter(options, counter),
        maxQueueSize: limits.trace_spans_waiting_max,
        maxExportBatchSize: limits.trace_spans_sent_max,
        scheduledDelayMillis: limits.trace_linger_ms,
        exportTimeoutMillis: limits.trace_send_ms_max,
      }),
    ],
  })
  // An exporter that hangs keeps a stop for a moment only.
  onClose('traces', async () => {
    const closed = provider.shutdown().catch(() => {})
    await Promise.race([closed, pause(limits.trace_close_ms_max)])
  })
  const tracer = provider.getTracer('tributary')
  const running = new AsyncLocalStorage<RecordedSpan>()
  return {
    begin({ name: text, kind, parent, links = [] }: SpanStart) {
      if (parent === undefined && Math.random() >= ratio) return null
      const cause = parent === undefined ? undefined : readTraceparent(parent)
      if (cause === null) return null
      const context = cause === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, cause)
      const span = tracer.startSpan(text, { kind: kinds[kind], links: links.flatMap(toLink) }, context)
      return openSpan(span, counter)
    },
    within: (span, work) => running.run(span as RecordedSpan, work),
    active() {
      const span = running.getStore()
      // What a request leaves behind, such as a timer, is not a part of it.
      return span?.isOpen() ? span : undefined
    },
  }
}

interface RecordedSpan extends OpenSpan {
  isOpen(): boolean
}

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
}

type SpanCounter = Counter<'state'>

function openSpan(span: Span, counter: SpanCounter): RecordedSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    isOpen: () => span.isRecording(),
    end({ attributes = {}, error }) {
      span.setAttributes(attributes)
      if (error !== undefined) {
        span.setAttribute('error.type', typeOf(error))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
      counter.inc({ state: 'recorded' })
    },
  }
}

function typeOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && /^[\w.-]+$/.test(String(error.code)) ? String(error.code) : error.name
}

/** W3C Trace Context, version 00. Null for anything else, and for a trace that is not sampled. */
function readTraceparent(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || (Number.parseInt(flags!, 16) & 1) === 0) return null
  return trace.isSpanContextValid({ traceId, spanId, traceFlags: 1 })
    ? { traceId, spanId, traceFlags: 1, isRemote: true }
    : null
}

const toLink = (text: string): Link[] => {
  const context = readTraceparent(text)
  return context === null ? [] : [{ context }]
}

/** Counts the spans that the collector took, and logs the first failure after a success. */
function countedExporter({ url, headers, logger }: OpenTelemetryOptions, counter: SpanCounter): SpanExporter {
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: limits.trace_send_ms_max })
  let failing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        if (result.code === 0) counter.inc({ state: 'sent' }, spans.length)
        if (result.code !== 0 && !failing) logger.warn({ err: result.error }, 'the collector of traces takes no spans')
        failing = result.code !== 0
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
