import type { Settings } from '../settings/read-settings.ts'
import type { TracedProcess, Traces } from './traces.ts'

export const traceSettings = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
] as const
export type TraceConfig = Settings<(typeof traceSettings)[number]>

/** Traces as the settings say; undefined without a collector: then nothing of OpenTelemetry is loaded. */
export async function openTraces(config: Partial<TraceConfig>, process: TracedProcess): Promise<Traces | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config
  if (endpoint === undefined) return undefined
  const { openOpenTelemetry } = await import('./open-telemetry.ts')
  return openOpenTelemetry({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: config.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    ratio: ratioOf(config),
    ...process,
  })
}

/** Share of traces that are recorded. A request never has a parent, so `parentbased_` changes nothing. */
function ratioOf({
  OTEL_TRACES_SAMPLER: sampler = 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: ratio = 0.01,
}: Partial<TraceConfig>) {
  if (sampler.endsWith('always_off')) return 0
  return sampler.endsWith('always_on') ? 1 : ratio
}
