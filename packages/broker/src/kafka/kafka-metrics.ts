import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The metrics of the Kafka producer; none without a registry. */
export function kafkaMetrics(registry: Registry | undefined, buffered_bytes: () => number) {
  if (registry === undefined) return { publishing: () => () => {} }
  const registers = [registry]
  const records = new Counter({
    name: 'tributary_log_records_total',
    help: 'Records acknowledged by all replicas in sync',
    registers,
  })
  const seconds = new Histogram({
    name: 'tributary_log_publish_seconds',
    help: 'Time from a publish to its acknowledgement, linger included',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  })
  new Gauge({
    name: 'tributary_log_buffered_bytes',
    help: 'Bytes of records that wait for their acknowledgement',
    registers,
    collect() {
      this.set(buffered_bytes())
    },
  })
  return {
    /** Called when a publish begins; the answer is called when it is acknowledged. */
    publishing(count: number) {
      const end = seconds.startTimer()
      return () => {
        records.inc(count)
        end()
      }
    },
  }
}
