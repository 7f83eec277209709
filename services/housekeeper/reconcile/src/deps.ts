import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openTombstones } from '@tributary/erasure/tombstones'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { deadNames } from './look/dead-names.ts'
import type { StoreDeps } from './look/look-deps.ts'
import type { LookTwiceDeps } from './look/look-twice.ts'

export interface ReconcilerDeps {
  pool: Pool
  masterKeys: MasterKeys
  clickhouse: Pick<Clickhouse, 'query'>
  broker: Pick<Broker, 'groupOffsets' | 'consume'>
  audit: Pick<AuditStore, 'get' | 'list'>
  now: () => number
  logger: Logger
  registry: Registry
  /** Share of a core that the job uses (`TRIBUTARY_RECONCILE_CORE_PERCENT`); 0: it compares nothing by itself. */
  core_share: number
  /** Before a second look; real time by default. */
  sleep?: LookTwiceDeps['sleep']
}

export const sleepOf = ({ sleep: given }: ReconcilerDeps): LookTwiceDeps['sleep'] =>
  given ?? ((ms, signal) => sleep(ms, undefined, { signal }))

/** What looks read from, at some pace; sleeps end with the signal. */
export function openStores(deps: ReconcilerDeps, pause: Pause, signal: AbortSignal): StoreDeps {
  const { clickhouse, audit, broker, now } = deps
  const sleep = sleepOf(deps)
  return {
    ...{ clickhouse, audit, now, pause, tombstones: openTombstones(deps), dead: deadNames(broker, pause) },
    sleep: (ms) => sleep(ms, signal),
  }
}
