import { clicks_together, findMissingClicks } from '@tributary/audited/missing-clicks'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { newestTombstones, wasClickErased } from '@tributary/domain/erasure/tombstones'
import { archivesFrom, readArchive } from '@tributary/tables/attribution/click-archive'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { hourOf, type Looked, type Tallied, tallied } from './findings.ts'
import { type Refusals, unlessRefused, unreadable } from './list-objects.ts'
import { type Chosen, isInTime } from './look-at-requests.ts'
import type { LookDeps } from './look-deps.ts'

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
  const { clickhouse, audit, tombstones, pause, dead, suspects } = deps
  const byApp = new Map<string, Tallied>()
  const unread = tallied('', 'audit', suspects)
  const refusals: Refusals = new Map()
  const hours = new Set<string>()
  const of = (app_id: string) => {
    const found = byApp.get(app_id) ?? tallied(app_id, 'clicks_raw_v1', suspects)
    byApp.set(app_id, found)
    return found
  }
  const isCompared = ({ app_id, clicked_at_ms: at_ms }: KeptClick, key: string) => {
    const app = chosen.apps.get(app_id)
    return app !== undefined && isInTime(chosen, at_ms, key) && at_ms >= app.clicks_deleted_before_ms
  }
  let waiting = new Map<KeptClick, string>()

  async function lookUp() {
    const erased = await newestTombstones(tombstones)
    const living = [...waiting.keys()].filter(
      (click) => !erased.isLocked(click.app_id) && !wasClickErased(erased, click),
    )
    for (const { app_id, clicked_at_ms } of living) {
      hours.add(`${app_id}/${hourOf(clicked_at_ms)}`)
      of(app_id).expect(clicked_at_ms)
    }
    for (const click of await findMissingClicks(clickhouse, living)) {
      const { app_id, click_id, clicked_at_ms } = click
      const key = waiting.get(click)!
      suspects.readAgain(key)
      if (!(await dead.clicks()).has(click_id))
        of(app_id).miss(clicked_at_ms, { example: `click ${click_id} in ${key}` })
    }
    waiting = new Map()
  }

  for (const day of chosen.days) {
    const stored = await Array.fromAsync(archivesFrom(audit, day, (one) => one === day))
    const objects = stored.map((one) => ({ ...unlessRefused(one, refusals), received_at_ms: null }))
    const archives = chosen.choose(objects, day)
    for (const archive of archives) {
      await pause()
      const { key, clicks } = await readArchive(archive)
      unread.expect(Date.parse(day))
      if (clicks === null) {
        suspects.readAgain(key)
        unread.miss(Date.parse(day), { example: unreadable(key, refusals), name: key })
      }
      for (const click of clicks ?? []) if (isCompared(click, key)) waiting.set(click, key)
      if (waiting.size >= clicks_together) await lookUp()
    }
  }
  await lookUp()
  return { differences: [...byApp.values(), unread].flatMap((one) => one.differences()), hours }
}
