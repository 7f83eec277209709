import type { Logger } from 'pino'
import type { Registry } from 'prom-client'

/** Names of OpenTelemetry's semantic conventions. Never an id of a person, an address, a key, a body or a statement: they leave us. */
export type Attributes = Record<string, string | number>

export interface SpanStart {
  name: string
  kind: 'server' | 'producer' | 'consumer' | 'client'
  /** `traceparent` of the span that caused this one. Without it a new trace begins, which may not be recorded. */
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

/** The process that is traced, as `Service` has it. */
export interface TracedProcess {
  name: string
  logger: Pick<Logger, 'warn'>
  registry: Registry
  onClose(what: string, close: () => Promise<void>): void
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
