import { Counter, type Registry } from 'prom-client'

/** Money taken back, whoever found it; the writer and the sweep of a process share the registry. */
export function cancelledTotal(registry: Registry): Counter {
  const name = 'tributary_event_writer_cancelled_total'
  const known = registry.getSingleMetric(name) as Counter | undefined
  const help = 'Events whose money was taken back, because an earlier one of another partition has the transaction.'
  return known ?? new Counter({ name, help, registers: [registry] })
}
