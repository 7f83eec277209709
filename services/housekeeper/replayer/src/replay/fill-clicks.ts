import type { AuditStore } from '@tributary/audit-store/audit-store'
import { clicks_together, findMissingClicks } from '@tributary/audited/missing-clicks'
import { untilWritten } from '@tributary/audited/until-written'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { consumers } from '@tributary/contracts/consumers'
import { day_ms, limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { newestTombstones, type TombstoneStore, wasClickErased } from '@tributary/domain/erasure/tombstones'
import { utcDay } from '@tributary/domain/utc-day'
import { type ReadArchive, readClickArchives } from '@tributary/tables/attribution/click-archive'
import { clickRecord } from '@tributary/tables/attribution/records'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { Tally } from './tally.ts'

/** The engines that clicks and postbacks of the audit store are read from, looked up in, and put into the log with. */
export interface FillAuditedDeps {
  broker: Pick<Broker, 'publish' | 'groupOffsets' | 'partitionCount'>
  clickhouse: Pick<Clickhouse, 'query'>
  audit: Pick<AuditStore, 'list'>
  now: () => number
}

interface FillClicksDeps extends FillAuditedDeps {
  tombstones: TombstoneStore
}

interface Chosen {
  since_ms: number
  app_id: string | undefined
  dry_run: boolean
  /** Apps that there are. */
  apps: ReadonlyMap<string, Pick<AppFacts, 'clicks_deleted_before_ms'>>
  tally: Tally
  signal: AbortSignal
}

/**
 * Puts clicks of archives that ClickHouse lacks into the log again, where click-writer takes them like any others. It leaves out
 * - clicks that click-writer would drop for their age, or because they were erased: the log would keep them for another retention;
 * - clicks that retention deleted: an archive holds clicks of all companies, and outlives the setting of one.
 * Resolves when the others are written.
 */
export async function fillClicks(
  { broker, clickhouse, audit, tombstones, now }: FillClicksDeps,
  chosen: Chosen,
): Promise<void> {
  const { app_id, dry_run, apps, tally, signal } = chosen
  const since_ms = Math.max(chosen.since_ms, now() - limits.click_kept_ms)
  const isChosen = (click: KeptClick) => {
    const app = app_id === undefined || app_id === click.app_id ? apps.get(click.app_id) : undefined
    return app !== undefined && click.clicked_at_ms >= Math.max(since_ms, app.clicks_deleted_before_ms)
  }
  let waiting = new Map<string, KeptClick>()

  async function fill() {
    signal.throwIfAborted()
    const erased = await newestTombstones(tombstones)
    // A locked app keeps all of them: the writer sets its records aside.
    const living = [...waiting.values()].filter((click) => !wasClickErased(erased, click))
    const missing = await findMissingClicks(clickhouse, living)
    waiting = new Map()
    if (missing.length === 0) return
    tally.clicks_filled = (tally.clicks_filled ?? 0) + missing.length
    if (dry_run) return
    const partitions = await broker.partitionCount(topics.clicksRecorded.name)
    await broker.publish(missing.map(({ place: _, ...click }) => clickRecord({ ...click, archived: true }, partitions)))
    await untilWritten(broker, signal, consumers.clickWriter)
  }

  // A click is in the archive of its day or of a neighbour: a batch may begin before midnight, and a gateway may wait.
  for await (const archive of readClickArchives(audit, utcDay(since_ms - day_ms))) {
    for (const click of readable(archive, tally).filter(isChosen)) waiting.set(click.click_id, click)
    if (waiting.size >= clicks_together) await fill()
  }
  await fill()
}

function readable({ clicks }: ReadArchive, tally: Tally): KeptClick[] {
  if (clicks === null) tally.doubt('unreadable_object')
  return clicks ?? []
}
