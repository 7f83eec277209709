import { randomUUID } from 'node:crypto'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { derivedFromEvents } from '@tributary/contracts/tables'
import type { TombstoneStore } from '@tributary/domain/erasure/tombstones'
import { cancelBeatenClaims } from '@tributary/tables/money/cancel-beaten-claims'
import { findAllContested } from '@tributary/tables/money/find-contested'
import { refill_token, refillTables } from '@tributary/tables/repair/refill-tables'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { KnownKeys } from '@tributary/tenancy/postbacks/postback-keys'
import type { Progress } from '../reading.ts'
import { buildClicks } from './build-clicks.ts'
import { buildEvents } from './build-events.ts'
import { buildPostbacks } from './build-postbacks.ts'
import { carryOver, carryReceived, copyFacts } from './carry-over.ts'
import { type BuiltTable, compareBuilt } from './compare.ts'
import { openSteps, rebuild_token } from './scratch.ts'
import { swapTables } from './swap.ts'

export type { BuiltTable } from './compare.ts'
export { databaseOf, scratchOf } from './scratch.ts'

export interface RebuildDeps {
  live: Clickhouse
  /** A database of the same server, with all tables (`scratchOf`). Empty, or as a killed rebuild left it. */
  scratch: Clickhouse
  audit: Pick<AuditStore, 'list' | 'get'>
  apps: ReadonlyMap<string, AppFacts>
  tombstones: TombstoneStore
  postbackKeys: Pick<KnownKeys, 'current'>
  now: () => number
  reading: Progress
  logger: { info(fields: object, message: string): void }
  signal: AbortSignal
  /** Rejects while a writer runs; called before the first live table is changed. */
  requireStopped(): Promise<void>
  /** Called when the live tables are new: readers of raw rows have to begin again. */
  onSwapped(): Promise<void>
}

export interface RebuiltFromAudit {
  tables: BuiltTable[]
  /** False where nothing differs, and for a dry run. */
  swapped: boolean
}

/** A swap began and did not end: only another run without `dry_run` may follow. */
export class SwapUnfinishedError extends Error {
  override name = 'SwapUnfinishedError'
}

/** An insert of a rebuild that was killed still runs in the server. */
export class RebuildRunningError extends Error {
  override name = 'RebuildRunningError'
}

/**
 * Builds the tables of events, clicks and postbacks again from the audit store, in the scratch database, compares them with the live ones,
 * and puts them in their place where any differs (docs/operations.md#rebuild-from-the-audit-store). Nobody may write the live tables
 * meanwhile. A killed rebuild goes on where it was:
 *
 * 1. Facts that no request holds are copied into empty tables. A crash now: they are emptied and copied again.
 * 2. Days of the audit store are read. A crash now: days that are done are left out, and a day that is not is read again; its keys tell what
 *    is there.
 * 3. Rows that only the live tables have are carried over, and what views make of events is made anew. Both change nothing when repeated.
 * 4. The swap is noted, then done (`swapTables`). A crash now: the next run swaps whatever it compares.
 */
export async function rebuildFromAudit(
  deps: RebuildDeps,
  { dry_run }: { dry_run: boolean },
): Promise<RebuiltFromAudit> {
  const { live, scratch, logger, now, requireStopped, onSwapped } = deps
  for (const token of [rebuild_token, refill_token])
    if (await scratch.isInserting(token)) throw new RebuildRunningError('An earlier rebuild is at work in ClickHouse.')
  const steps = await openSteps(scratch, now)
  if (dry_run && steps.isDone('swap')) throw new SwapUnfinishedError('A swap has begun.')
  if (!steps.isDone('facts')) {
    await copyFacts(deps) // 1.
    await steps.done('facts')
  } else await refillTables({ clickhouse: scratch, tables: derivedFromEvents, logger }) // a block that was broken off may lack keys
  const log = `rebuilt@${now().toString().padStart(15, '0')}-${randomUUID().slice(0, 8)}`
  const building = { ...deps, steps, source: log }
  await buildClicks(building) // 2.
  await buildPostbacks(building)
  await buildEvents(building)
  await carryOver(deps) // 3.
  await refillTables({ clickhouse: scratch, tables: derivedFromEvents, logger })
  await carryReceived(deps)
  for await (const some of findAllContested(scratch)) await cancelBeatenClaims(scratch, some)
  const tables = await compareBuilt(live, scratch)
  const swapped = !dry_run && (steps.isDone('swap') || tables.some(({ differs }) => differs))
  if (!swapped) return { tables, swapped }
  await requireStopped()
  await steps.done('swap') // 4.
  await swapTables(live, scratch)
  await onSwapped()
  return { tables, swapped }
}
