import { findMissingClicks } from '@tributary/audited/missing-clicks'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { newestTombstones, wasClickErased } from '@tributary/domain/erasure/tombstones'
import { archivesFrom, readArchive } from '@tributary/tables/attribution/click-archive'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { hourOf, type Looked, type Tallied, tallied } from './findings.ts'
import type { Chosen, LookDeps, NamedObject } from './look-at-requests.ts'

/** Days of archives to look at, and the apps whose clicks are compared. */
export interface ChosenClicks extends Chosen {
  days: ReadonlySet<string>
  apps: ReadonlyMap<string, Pick<AppFacts, 'clicks_deleted_before_ms'>>
}

/**
 * Compares the archives of clicks with `clicks_raw_v1`. Clicks that were erased or that retention deleted are left out, and so are
 * clicks of no app that there is.
 */
export async function lookAtClicks(deps: LookDeps, chosen: ChosenClicks): Promise<Looked> {
  const { clickhouse, audit, tombstones, pause } = deps
  const byApp = new Map<string, Tallied>()
  const unreadable = tallied('', 'audit')
  const hours = new Set<string>()
  const of = (app_id: string) => {
    const found = byApp.get(app_id) ?? tallied(app_id, 'clicks_raw_v1')
    byApp.set(app_id, found)
    return found
  }
  const isCompared = ({ app_id, clicked_at_ms: at_ms }: KeptClick) => {
    const app = chosen.apps.get(app_id)
    return app !== undefined && at_ms >= Math.max(chosen.since_ms, app.clicks_deleted_before_ms)
  }
  for (const day of chosen.days) {
    const stored = await Array.fromAsync(archivesFrom(audit, day, (one) => one === day))
    const archives = chosen.choose(stored.map((one) => ({ ...one, received_at_ms: null })))
    await lookAtArchives(archives, Date.parse(day))
  }
  return { differences: [...byApp.values(), unreadable].flatMap((one) => one.differences()), hours }

  async function lookAtArchives(archives: readonly NamedObject[], day_ms: number) {
    for (const stored of archives) {
      await pause()
      const { key, clicks } = await readArchive(stored)
      unreadable.expect(day_ms)
      if (clicks === null) {
        unreadable.miss(day_ms, `${key} can't be read`)
        continue
      }
      const erased = await newestTombstones(tombstones)
      const compared = clicks.filter(
        (click) => isCompared(click) && !erased.isLocked(click.app_id) && !wasClickErased(erased, click),
      )
      for (const { app_id, clicked_at_ms } of compared) {
        hours.add(`${app_id}/${hourOf(clicked_at_ms)}`)
        of(app_id).expect(clicked_at_ms)
      }
      for (const { app_id, click_id, clicked_at_ms } of await findMissingClicks(clickhouse, compared))
        of(app_id).miss(clicked_at_ms, `click ${click_id} in ${key}`)
    }
  }
}
