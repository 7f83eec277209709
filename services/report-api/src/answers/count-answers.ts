import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Totals } from './answer.ts'

/** Counts and logs the answers of reports, each once, when its last row is known. */
export function countAnswers({ registry, logger }: { registry: Registry; logger: Logger }) {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'tributary_report_seconds',
    help: 'Time from an accepted report request to its rows, waiting included.',
    labelNames: ['report'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers,
  })
  const missingRates = new Counter({
    name: 'tributary_report_missing_rates_total',
    help: 'Answered reports that lack money of a currency, since it has no exchange rate.',
    labelNames: ['currency'],
    registers,
  })
  const broken = new Counter({
    name: 'tributary_report_broken_off_total',
    help: 'CSV answers that ended before their last row, by whether the client left or a later page failed.',
    labelNames: ['reason'],
    registers,
  })
  return (line: { report: string; [field: string]: unknown }, totals: Totals): void => {
    const { rows, missing_rates, elapsed_ms, end = 'whole', cause } = totals
    const logged = { ...line, rows, elapsed_ms }
    seconds.observe({ report: line.report }, elapsed_ms / 1000)
    for (const currency of missing_rates) missingRates.inc({ currency })
    if (end !== 'whole') broken.inc({ reason: end })
    if (end === 'failed') logger.warn({ ...logged, err: cause }, 'report broken off')
    else logger.info({ ...logged, end }, 'report answered')
  }
}
