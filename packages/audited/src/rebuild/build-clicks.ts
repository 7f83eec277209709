import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { day_ms, limits } from '@tributary/contracts/limits'
import { newestTombstones, type TombstoneStore, wasClickErased } from '@tributary/domain/erasure/tombstones'
import { utcDay } from '@tributary/domain/utc-day'
import { archivesFrom, readArchive } from '@tributary/tables/attribution/click-archive'
import { clickLine, storedClickColumns } from '@tributary/tables/attribution/clicks'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import type { Reading } from '../reading.ts'
import { insertInto, type Steps } from './scratch.ts'

export interface BuildClicksDeps {
  scratch: Clickhouse
  steps: Steps
  audit: Pick<AuditStore, 'list'>
  apps: ReadonlyMap<string, Pick<AppFacts, 'clicks_deleted_before_ms'>>
  tombstones: TombstoneStore
  now: () => number
  reading: Reading
  signal: AbortSignal
}

/** Clicks of one insert. */
const insert_clicks = 20_000

/**
 * Fills `clicks_raw_v1` of the scratch database from the archives, which hold the position of each click. A set: a click that comes again
 * changes nothing. Clicks are left out that ClickHouse drops for their age, that were erased, or that retention deleted.
 */
export async function buildClicks(deps: BuildClicksDeps): Promise<void> {
  const { scratch, steps, audit, apps, now, reading, signal } = deps
  const kept_from_ms = now() - limits.click_kept_ms
  const isChosen = ({ app_id, clicked_at_ms }: KeptClick) => {
    const app = apps.get(app_id)
    return app !== undefined && clicked_at_ms >= Math.max(kept_from_ms, app.clicks_deleted_before_ms)
  }
  let waiting: KeptClick[] = []

  async function write() {
    signal.throwIfAborted()
    const erased = await newestTombstones(deps.tombstones)
    const living = waiting.filter((click) => !erased.isLocked(click.app_id) && !wasClickErased(erased, click))
    waiting = []
    await insertInto(scratch, 'clicks_raw_v1', storedClickColumns, living.map(lineOf))
  }

  let reached = ''
  async function end(day: string) {
    await write()
    if (day !== '') await steps.done(`clicks/${day}`)
  }
  // A click is in the archive of its day or of a neighbour: a batch may begin before midnight, and a gateway may wait.
  const archives = archivesFrom(audit, utcDay(kept_from_ms - day_ms), (day) => !steps.isRead('clicks', day))
  for await (const { day, ...stored } of archives) {
    if (day !== reached) await end(reached)
    reached = day
    const { key, clicks } = await readArchive(stored)
    if (clicks === null) reading.doubt('unreadable_object', 1, key)
    waiting.push(...(clicks ?? []).filter(isChosen))
    if (waiting.length >= insert_clicks) await write()
  }
  await end(reached)
}

const lineOf = ({ place, ...click }: KeptClick): string =>
  `${clickLine(click, place).slice(0, -1)},${click.clicked_at_ms}]`
