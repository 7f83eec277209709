import { setTimeout } from 'node:timers/promises'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { every } from '@tributary/service-kit/service/every'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Pool } from 'pg'
import { type ReconcileDeps, reconcileQuota } from './reconcile-quota.ts'

/** Between two rounds, and between two looks whether another process still does them. */
const pause_ms = 5000

/** Reconciles the quota until the service closes; of several processes one does, while its session holds the lease. */
export function startQuotaReconciliation(
  deps: Pick<ReconcileDeps, 'clickhouse' | 'broker' | 'keyValue'> & { pool: Pool },
  { logger, registry, now, onClose }: Service,
): void {
  const pause = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal }).catch(() => {})
  const name = 'quota_reconciliation'
  const job = every({
    ...{ name, pause_ms, logger, registry },
    work: (closing) =>
      unlessRunning(deps.pool, name, (lost) =>
        reconcileQuota({ ...deps, now, pause }, AbortSignal.any([closing, lost])),
      ),
  })
  onClose('reconcile-quota', () => job.close())
}
