import { isDeepStrictEqual } from 'node:util'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Replacement } from './follow-decisions.ts'

export interface InstallMetrics {
  /** Counts what was just written; `now_ms` is the time of that, Unix epoch ms. */
  observe(replacements: readonly Replacement[], now_ms: number): void
}

/** How soon installs have a row, and how many verdicts changed. */
export function installMetrics(registry: Registry): InstallMetrics {
  const seconds = new Histogram({
    name: 'tributary_install_attributed_seconds',
    help: 'Time from the receipt of an install event to the first row of its install in installs_v1.',
    buckets: [0.5, 1, 2, 3, 5, 10, 30, 60, 300, 3600],
    registers: [registry],
  })
  const changed = new Counter({
    name: 'tributary_verdicts_changed_total',
    help: 'Installs whose verdict was replaced by another one; the end of waiting for a click is no change.',
    registers: [registry],
  })
  return {
    observe(replacements, now_ms) {
      for (const { before, decision } of replacements) {
        if (before === null) seconds.observe(Math.max(0, now_ms - decision.received_at_ms) / 1000)
        else if (before.verdict !== null && !isDeepStrictEqual(before.verdict, decision.verdict)) changed.inc()
      }
    },
  }
}
