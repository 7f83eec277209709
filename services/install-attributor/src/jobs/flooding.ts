import { findFacts } from '@tributary/attribution/facts'
import { findNewest } from '@tributary/attribution/verdicts'
import type { Wish } from '@tributary/contracts/attribution/found'
import { findFloods, sourceName } from '@tributary/domain/attribute/fraud'
import { installOf } from '@tributary/domain/attribute/install-of'
import { publishWishes } from '../steps/publish.ts'
import { changedDays } from './changed-days.ts'
import { type FloodRow, findClaimants, findSources, findWorkedOut, insertFloods } from './flood-tables.ts'
import type { JobDeps } from './pending.ts'

/** Installs whose flag is compared in one statement. */
const installs_max = 2000

/**
 * Works out which sources of clicks flooded, of each day that has changed since the run before, and wishes for the installs
 * whose flag differs (docs/rules.md#fraud-flags); returns how many. The first run works out every day. A run that fails is
 * done again. Any number of processes may run it.
 */
export function floodingJob(deps: JobDeps): (signal: AbortSignal) => Promise<number> {
  const changes = changedDays(deps.clickhouse)
  return async (signal) => {
    const { days, settle } = await changes()
    let wishes = 0
    for (const [app_id, changed] of days) {
      signal.throwIfAborted()
      wishes += await workOut(deps, app_id, changed)
    }
    settle()
    return wishes
  }
}

async function workOut({ clickhouse, broker, now }: JobDeps, app_id: string, days: readonly string[]): Promise<number> {
  const sources = await findSources(clickhouse, app_id, days)
  const byDay = Map.groupBy(sources, ({ day }) => day)
  const flooded = new Set([...byDay.values()].flatMap((of) => findFloods(of)))
  const before = new Map((await findWorkedOut(clickhouse, app_id, days)).map((row) => [sourceName(row), row]))
  const rows = sources.map((source): FloodRow => ({ ...source, flooded: flooded.has(source) }))
  const changed = rows.filter((row) => row.flooded !== (before.get(sourceName(row))?.flooded ?? false))
  await insertFloods(clickhouse, app_id, changed, now())
  // Also sources that flooded once: a run that ended before its wishes left installs with the flag of then.
  const now_known = new Map([...before, ...changed.map((row) => [sourceName(row), row] as const)])
  const uuids = await findMisflagged({ clickhouse, app_id }, [...now_known.values()])
  await publishWishes(
    broker,
    uuids.map((install_uuid): Wish => ({ kind: 'wish', v: 1, app_id, install_uuid, reason: 'flooding' })),
  )
  return uuids.length
}

/** Installs that these sources brought and whose flag is not that of their source; a backend's never have it. */
async function findMisflagged(
  { clickhouse, app_id }: Pick<JobDeps, 'clickhouse'> & { app_id: string },
  sources: readonly FloodRow[],
): Promise<string[]> {
  if (sources.length === 0) return []
  const wanted = new Map(sources.map((row) => [sourceName(row), row.flooded]))
  const claimants = await findClaimants(clickhouse, app_id, [...new Set(sources.map(({ day }) => day))])
  const installs = claimants.filter((one) => wanted.has(sourceName(one)))
  const found: string[] = []
  for (let at = 0; at < installs.length; at += installs_max) {
    const part = installs.slice(at, at + installs_max)
    const uuids = part.map(({ install_uuid }) => install_uuid)
    const newest = await findNewest(clickhouse, app_id, uuids)
    const differ = part.filter((one) => {
      const flags = newest.get(one.install_uuid)?.decision.verdict?.fraud_flags
      return flags !== undefined && flags.includes('click_flooding') !== wanted.get(sourceName(one))
    })
    const facts = await findFacts(
      clickhouse,
      app_id,
      differ.map(({ install_uuid }) => install_uuid),
    )
    const ofSdk = ({ install_uuid }: { install_uuid: string }) => installOf(facts.get(install_uuid) ?? [])?.is_sdk
    found.push(
      ...differ.filter((one) => ofSdk(one) === true || !wanted.get(sourceName(one))).map((one) => one.install_uuid),
    )
  }
  return [...new Set(found)]
}
