import type { AuditStore } from '@tributary/audit-store/audit-store'
import { findMissing, type ReadEnvelope } from '@tributary/audited/missing-events'
import { readAudit } from '@tributary/audited/read-audit'
import { openStaged } from '@tributary/audited/staged'
import { untilWritten } from '@tributary/audited/until-written'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { StartReplay } from '@tributary/contracts/admin/stored-data'
import { newestTombstones, type TombstoneStore } from '@tributary/domain/erasure/tombstones'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { openFill } from './fill.ts'
import { fillClicks } from './fill-clicks.ts'
import { fillPostbacks } from './postbacks/fill-postbacks.ts'
import { readLog } from './read-log.ts'
import type { Tally } from './tally.ts'

export interface ReplayDeps {
  broker: Pick<Broker, 'publish' | 'consume' | 'groupOffsets' | 'partitionCount'>
  clickhouse: Clickhouse
  audit: Pick<AuditStore, 'get' | 'list'>
  tombstones: TombstoneStore
  now: () => number
}

/**
 * Reads accepted events again and puts those that ClickHouse lacks into the log, as they were: the writer drops by its
 * key what came meanwhile. A replay may therefore be stopped anywhere, repeated, and run beside live traffic and other
 * replays. Resolves when what it filled is written.
 */
export async function replay(
  deps: ReplayDeps,
  { source, since_ms = 0, app_id, dry_run }: StartReplay,
  { apps, tally, signal }: { apps: ReadonlyMap<string, AppFacts>; tally: Tally; signal: AbortSignal },
): Promise<void> {
  const { broker, clickhouse } = deps
  // Events that still wait for the writer are not missing.
  await untilWritten(broker, signal)
  tally.state = 'running'
  // It shares its process: no look-up, day or batch holds up the others.
  const pause = createPauses()
  const chosen = { since_ms, app_id, tally, signal, pause }
  const fill = await openFill({ broker, dry_run, tally, signal, pause })
  // A replay of years takes hours: what is erased meanwhile is left out too.
  const missingOf = async (read: readonly ReadEnvelope[]) =>
    findMissing({ clickhouse, erased: await newestTombstones(deps.tombstones), reading: tally, pause }, read)
  if (source === 'log') {
    await readLog({ broker, ...chosen }, async (read) => fill.add(await missingOf(read)))
  } else {
    // First, so that most installs find their click.
    await fillClicks(deps, { ...chosen, dry_run, apps })
    // They name no app.
    if (app_id === undefined) await fillPostbacks(deps, { ...chosen, dry_run })
    const staged = openStaged(pause)
    try {
      await readAudit(
        { audit: deps.audit, apps, ...chosen },
        async (read) => staged.add(await missingOf(read)),
        async () => {
          for await (const missing of staged.take()) await fill.add(missing)
        },
      )
    } finally {
      staged.close()
    }
  }
  await fill.finish()
}
