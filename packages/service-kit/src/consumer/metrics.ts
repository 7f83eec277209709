import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { sharedMetric } from '../service/shared-metric.ts'

const batchSeconds = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]

/** The same metrics for every consumer, distinguished by the label `consumer`; several may share a registry. */
export function consumerMetrics(registry: Registry) {
  const counter = (name: string, help: string, labels: string[] = []) =>
    sharedMetric(registry, Counter, { name, help, labelNames: ['consumer', ...labels] })
  const gauge = (name: string, help: string) =>
    sharedMetric(registry, Gauge, { name, help, labelNames: ['consumer', 'partition'] })
  return {
    received: counter('tributary_consumer_received_total', 'Records taken from the log, replays included.'),
    written: counter('tributary_consumer_written_total', 'Records or rows that the consumer wrote, by its own count.'),
    dropped: counter('tributary_consumer_dropped_total', 'Left out on purpose.', ['reason']),
    dead: counter('tributary_consumer_dead_total', 'Records put into the dead-letter topic.', ['reason']),
    reprocessed: counter('tributary_consumer_reprocessed_total', 'Records handled again after a crash or rebalance.'),
    lost: counter('tributary_consumer_lost_total', 'Offsets that the log no longer had when they were to be read.'),
    misfits: counter(
      'tributary_consumer_misfits_total',
      'Partitions whose log, committed offset and tables did not fit together.',
      ['reason'],
    ),
    failures: counter('tributary_consumer_failures_total', 'Tries that failed and were repeated.', ['step']),
    lag: gauge('tributary_consumer_lag_records', 'Offsets behind the last committed batch.'),
    age: gauge('tributary_consumer_oldest_unwritten_seconds', 'Age of the oldest record in work; 0 when idle.'),
    batch: sharedMetric(registry, Histogram, {
      name: 'tributary_consumer_batch_seconds',
      help: 'From taking a batch to its commit.',
      labelNames: ['consumer'],
      buckets: batchSeconds,
    }),
  }
}

export type ConsumerMetrics = ReturnType<typeof consumerMetrics>
