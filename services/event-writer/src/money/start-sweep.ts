import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { every } from '@tributary/service-kit/service/every'
import type { Service } from '@tributary/service-kit/service/run-service'
import { cancelledTotal } from './cancelled-total.ts'
import { transactionSweep } from './sweep-transactions.ts'

/** Maximum time a transaction may be counted twice, or by a claim of too low a rank. */
const pause_ms = 60_000

/** Sweeps transactions each minute until the service closes. */
export function startSweep(clickhouse: Clickhouse, { logger, registry, onClose }: Service): void {
  const sweep = transactionSweep(clickhouse)
  const cancelled = cancelledTotal(registry)
  const work = async () => cancelled.inc(await sweep())
  const job = every({ name: 'transaction_sweep', pause_ms, logger, registry, work })
  onClose('transaction sweep', () => job.close())
}
