import { findFloods, sourceName } from '@tributary/domain/attribute/fraud'
import { installOf } from '@tributary/domain/attribute/install-of'
import { utcDay } from '@tributary/domain/utc-day'
import { findDecidingFacts } from '@tributary/tables/attribution/facts'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { changedDays } from './changed-days.ts'
import {
  type FloodRow,
  findMisflagged,
  findSources,
  findWorkedOut,
  insertFloods,
  type Misflagged,
} from './flood-tables.ts'
import type { JobDeps } from './job.ts'

export interface FloodingDeps extends JobDeps {
  attributionApps: Pick<AttributionApps, 'find'>
}

/** Installs whose flag differs, of one statement. */
const page_max = 1000

/**
 * Works out which sources of clicks flooded, of each day that has changed since the run before, and has the installs
 * decided again whose flag differs (docs/rules.md#fraud-flags); returns how many. The first run works out every day. A run that fails is
 * done again. Any number of processes may run it. Days whose clicks retention deletes stay as they were worked out last.
 */
export function floodingJob(deps: FloodingDeps): (signal: AbortSignal) => Promise<number> {
  const changes = changedDays(deps.clickhouse)
  return async (signal) => {
    const { days, noteDone } = await changes()
    let added = 0
    for (const [app_id, all] of days) {
      signal.throwIfAborted()
      const { clicks_deleted_before_ms = 0 } = (await deps.attributionApps.find(app_id)) ?? {}
      const changed = all.filter((day) => day >= utcDay(clicks_deleted_before_ms))
      if (await workOut(deps, app_id, changed)) added += await decideAgain(deps, app_id, changed)
    }
    noteDone()
    return added
  }
}

/**
 * Writes which sources flooded on these days, where that has changed, and tells whether any ever did. A run that ends here
 * misses no install: the next one compares flags with what was written.
 */
async function workOut({ clickhouse, now }: JobDeps, app_id: string, days: readonly string[]): Promise<boolean> {
  const sources = await findSources(clickhouse, app_id, days)
  const byDay = Map.groupBy(sources, ({ day }) => day)
  const flooded = new Set([...byDay.values()].flatMap((of) => findFloods(of)))
  const held = await findWorkedOut(clickhouse, app_id, days)
  const before = new Map(held.map((row) => [sourceName(row), row.flooded]))
  const rows = sources.map((source): FloodRow => ({ ...source, flooded: flooded.has(source) }))
  const changed = rows.filter((row) => row.flooded !== (before.get(sourceName(row)) ?? false))
  // The time is behind those that are there, which a clock ahead may have written.
  const worked_out_ms = held.reduce((latest, row) => Math.max(latest, row.worked_out_ms + 1), now())
  await insertFloods(clickhouse, app_id, changed, worked_out_ms)
  return before.size + changed.length > 0
}

/** Adds to the list, page by page, installs that clicks of these days brought and whose flag is not that of their source. */
async function decideAgain({ clickhouse, redecisions }: JobDeps, app_id: string, days: readonly string[]) {
  let added = 0
  let after = ''
  for (;;) {
    const page = await findMisflagged(clickhouse, { app_id, days, after, page_max })
    const wanted = await withoutBackends(clickhouse, app_id, page)
    await redecisions.add(wanted.map((install_uuid) => ({ app_id, install_uuid })))
    added += wanted.length
    after = page.at(-1)?.install_uuid ?? ''
    if (page.length < page_max) return added
  }
}

/** An install of a backend never has the flag. */
async function withoutBackends(
  clickhouse: JobDeps['clickhouse'],
  app_id: string,
  page: readonly Misflagged[],
): Promise<string[]> {
  const lacking = page.filter(({ flooded }) => flooded === 1).map(({ install_uuid }) => install_uuid)
  const facts = await findDecidingFacts(clickhouse, app_id, lacking)
  const isOfSdk = (install_uuid: string) => installOf(facts.get(install_uuid) ?? [])?.is_sdk === true
  const wanted = page.filter(({ flooded, install_uuid }) => flooded === 0 || isOfSdk(install_uuid))
  return [...new Set(wanted.map(({ install_uuid }) => install_uuid))]
}
