import { Counter, Histogram, type Registry } from 'prom-client'

/** The metrics of the embedded log; none without a registry. */
export function createLogMetrics(registry: Registry | undefined) {
  if (registry === undefined) return { committed: () => {} }
  const registers = [registry]
  const records = new Counter({
    name: 'tributary_log_records_total',
    help: 'Records made durable by the embedded event log',
    registers,
  })
  const seconds = new Histogram({
    name: 'tributary_log_commit_seconds',
    help: 'Time of one commit of the embedded event log, fsync included',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  })
  return {
    committed(count: number, duration_s: number) {
      records.inc(count)
      seconds.observe(duration_s)
    },
  }
}
