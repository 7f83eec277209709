import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { createSettler } from '@tributary/tables/settled/settler'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'

/** The settler with its metric, which the job and the route share. */
export function openSettler({
  clickhouse,
  logger,
  registry,
}: {
  clickhouse: Clickhouse
  logger: Logger
  registry: Registry
}) {
  const settled = sharedMetric(registry, Counter, {
    name: 'tributary_settled_days_total',
    help: 'Figures of a day that were settled.',
    labelNames: ['figure'],
  })
  return createSettler({ clickhouse, logger, onSettled: (figure, days) => settled.inc({ figure }, days) })
}
