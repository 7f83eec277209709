import type { Metric, Registry } from 'prom-client'

/**
 * The metric of that name, made when the registry has none: parts of one process, and the services of the standalone,
 * share a registry and count together. One name is always of one kind with the same labels.
 */
export function sharedMetric<Made extends Metric, Options extends { name: string }>(
  registry: Registry,
  Kind: new (options: Options) => Made,
  options: Options,
): Made {
  const known = registry.getSingleMetric(options.name) as Made | undefined
  return known ?? new Kind({ ...options, registers: [registry] })
}
