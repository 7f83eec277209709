import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { TombstoneStore } from '@tributary/domain/erasure/tombstones'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { DeadNames } from './dead-names.ts'
import type { Suspects } from './suspects.ts'

/** What every look reads from. */
export interface StoreDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  audit: Pick<AuditStore, 'get' | 'list'>
  tombstones: TombstoneStore
  /** Lets others run, and rests. */
  pause: Pause
  /** Resolves after this time. */
  sleep(ms: number): Promise<void>
  dead: DeadNames
  now: () => number
}

/** The same, for one of two looks. */
export interface LookDeps extends StoreDeps {
  suspects: Suspects
}
