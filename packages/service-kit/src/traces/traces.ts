import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'

export const traceSettings = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
] as const
export type TraceConfig = Settings<(typeof traceSettings)[number]>

/** Names of OpenTelemetry's semantic conventions. Never an id of a person, an address, a key, a body or a statement: they leave us. */
export type Attributes = Record<string, string | number>

export interface SpanStart {
  name: string
  kind: 'server' | 'producer' | 'consumer' | 'client'
  /** `traceparent` of the span that caused this one. Without it a new trace begins, and the sampler decides whether it is recorded. */
  parent?: string | undefined
  /** `traceparent` of spans that have a part in it. */
  links?: readonly string[]
}

/** A span that is recorded. */
export interface OpenSpan {
  /** Names the span to others (W3C Trace Context). */
  traceparent: string
  /** `error`: it failed. Its type or code is recorded alone, since a message may hold what a client sent. */
  end(outcome: { attributes?: Attributes; error?: unknown }): void
}

/** Traces of a process. A process without the setting has none: its `Service.traces` is absent. */
export interface Traces {
  /** Null when the trace is not sampled: nothing of it is recorded, here or behind it. */
  begin(start: SpanStart): OpenSpan | null
  /** Runs `work`, and all that it waits for, with this span as the active one. */
  within<Result>(span: OpenSpan, work: () => Result): Result
  /** The span that this code runs in, while it is open. */
  active(): OpenSpan | undefined
}

/** Traces as the settings say; undefined without a collector: then nothing of OpenTelemetry is loaded. */
export async function openTraces(
  config: Partial<TraceConfig>,
  service: Pick<Service, 'name' | 'logger' | 'registry' | 'onClose'>,
): Promise<Traces | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config
  if (endpoint === undefined) return undefined
  const { openOpenTelemetry } = await import('./open-telemetry.ts')
  return openOpenTelemetry({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    ratio: ratioOf(config),
    ...service,
  })
}

/** Share of traces that are recorded. A request never has a parent, so `parentbased_` changes nothing. */
function ratioOf({
  OTEL_TRACES_SAMPLER: sampler = 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: ratio = 1,
}: Partial<TraceConfig>) {
  if (sampler.endsWith('always_off')) return 0
  return sampler.endsWith('always_on') ? 1 : ratio
}

/** Runs `work` in a span below the active one. Outside of a span it only runs `work`. */
export async function inSpan<Result>(
  traces: Traces,
  start: () => SpanStart & { attributes: Attributes },
  work: (span?: OpenSpan) => Promise<Result>,
): Promise<Result> {
  const parent = traces.active()
  if (parent === undefined) return work()
  const { attributes, ...begun } = start()
  return endWith(traces, traces.begin({ ...begun, parent: parent.traceparent }), attributes, work)
}

/** Runs `work` in a span, which ends with it. */
export async function endWith<Result>(
  traces: Traces,
  span: OpenSpan | null,
  attributes: Attributes,
  work: (span?: OpenSpan) => Promise<Result>,
): Promise<Result> {
  if (span === null) return work()
  try {
    const result = await traces.within(span, () => work(span))
    span.end({ attributes })
    return result
  } catch (error) {
    span.end({ attributes, error })
    throw error
  }
}
