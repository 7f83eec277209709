import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { AliasFact, Fact, InstallFact } from '@tributary/contracts/attribution/found'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { clickWindowsOf, withKept } from '@tributary/domain/attribute/attribute'
import { withCrowds } from '@tributary/domain/attribute/crowds'
import { isBlockedAt, sourceName } from '@tributary/domain/attribute/fraud'
import { decidingAliases, decidingFacts, installOf, isAlias, otherOf } from '@tributary/domain/attribute/install-of'
import { candidatesOf, clickRanges, namedClicks, recallLikeness } from '@tributary/domain/attribute/match-click'
import { matchKey } from '@tributary/domain/attribute/match-keys'
import type { OtherInstall } from '@tributary/domain/attribute/reinstall'
import { byInstall, byPlace, type Crowds } from '@tributary/domain/attribute/verdict'
import { utcDay } from '@tributary/domain/utc-day'
import type { Geo } from '@tributary/geo/geo'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'
import type { AttributionApp } from '@tributary/tenancy/attribution/attribution-apps'
import { createPlaces } from './crowds.ts'
import { indexClicks } from './index-clicks.ts'
import type { Lookups } from './lookups/lookups.ts'
import { findNeighbours, type Neighbours } from './neighbours.ts'

/** The work of a batch on one app. */
export interface AppWork {
  app: Pick<AttributionApp, 'app_id' | 'company_apps' | 'clicks_deleted_before_ms'>
  /** Facts of the batch. */
  facts: readonly Fact[]
  /** Installs that are decided again. */
  again: ReadonlySet<string>
  /** The windows by which an install is decided. */
  windowsOf(install: InstallFact, newest: Decision | null): Windows
  /** Whether a click of the app was erased. */
  isErasedClick(click_id: string): boolean
}

/** An install that is to be decided, with the evidence that is its own. */
export interface OpenInstall {
  install: InstallFact
  facts: readonly Fact[]
  newest: Decision | null
  windows: Windows
  crowds: Crowds
  /** Its candidates: see `candidatesOf`. */
  clicks: readonly KeptClick[]
}

/** All that is known about the installs of a batch, of one app. */
export interface Evidence extends Neighbours, Pick<KnownFacts, 'pushedOut'> {
  /** Installs in the order in which they are decided: install time, then position on the log. */
  open: OpenInstall[]
  /** Facts of installs of the batch and of others, by install. */
  facts: ReadonlyMap<string, readonly Fact[]>
  /** Claims of installs that are not decided here. */
  claims: readonly WrittenClaim[]
  clicks_deleted_before_ms: number
  isErasedClick(click_id: string): boolean
  isFlooded(click: KeptClick): boolean
  isBlocked(install: InstallFact): boolean
  isDatacenter(install: InstallFact): boolean
  /** Earlier installs, and others whose user is known, by a device or a user that they share with this one. */
  othersOf(install: InstallFact): OtherInstall[]
}

/** The facts of the installs of a batch, and their neighbours. Both come from facts alone, which the app's own batches store. */
export interface KnownFacts {
  own: ReadonlyMap<string, readonly Fact[]>
  /** Aliases of an install that no longer count since the batch brought earlier ones, or never did. */
  pushedOut: ReadonlyMap<string, readonly AliasFact[]>
  neighbours: Neighbours
}

/** Loads facts alone, no clicks and no verdicts. The facts of the batch must be stored. */
export async function loadFacts(lookups: Lookups, { app, facts, again }: AppWork): Promise<KnownFacts> {
  const named = new Set([...facts.map(({ install_uuid }) => install_uuid), ...again])
  const aliases = Map.groupBy(facts.filter(isAlias), ({ install_uuid }) => install_uuid)
  // Each look-up reads as many more users as the batch has aliases of an install, or twice that.
  const byMore = Map.groupBy(named, (uuid) => roundUp(aliases.get(uuid)?.length ?? 0))
  const stored = await Promise.all(
    [...byMore].map(([users_more, uuids]) => lookups.facts(app.app_id, uuids, { users_more, held: facts })),
  )
  const all = withFacts(new Map(stored.flatMap((found) => [...found])), facts)
  const own = new Map([...all].map(([uuid, of]) => [uuid, decidingFacts(of)]))
  const pushedOut = new Map(
    [...aliases].map(([uuid, added]) => {
      const isAdded = createPlaces(added)
      const of = all.get(uuid)!
      const before = [...decidingAliases(of.filter((fact) => !isAdded(fact))), ...added]
      const users = new Set(decidingAliases(of).map(({ user_id }) => user_id))
      return [uuid, before.filter(({ user_id }) => !users.has(user_id))]
    }),
  )
  return { own, pushedOut, neighbours: await findNeighbours(lookups, app.app_id, own, [...pushedOut.values()].flat()) }
}

/** The next power of two: installs with nearly as many aliases share a look-up. */
const roundUp = (count: number): number => (count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count)))

/** Loads all that the installs of a batch depend on. An install without facts is not decided again. */
export async function loadEvidence(
  lookups: Lookups,
  geo: Geo,
  work: AppWork,
  { own, pushedOut, neighbours }: KnownFacts,
): Promise<Evidence> {
  const { app_id, company_apps } = work.app
  const installs = installsOf(work, own)
  const judged = installs.filter(({ is_sdk, ip }) => is_sdk && ip !== null)
  const [open, hits] = await Promise.all([
    openInstalls(lookups, work, own, neighbours, installs),
    lookups.hits(company_apps, judged.map(blockRange)),
  ])
  const click_ids = [...new Set(open.flatMap(({ clicks }) => clicks.map(({ click_id }) => click_id)))]
  const days = [...new Set(open.flatMap(({ clicks }) => clicks.map(({ clicked_at_ms }) => utcDay(clicked_at_ms))))]
  const [claims, floods] = await Promise.all([lookups.claims(app_id, click_ids), lookups.floods(app_id, days)])
  const decided = new Set(open.map(({ install }) => install.install_uuid))
  const flooded = new Set(floods.map(sourceName))
  const hitTimes = Map.groupBy(hits, ({ ip }) => addressBlock(ip))
  // All installs of a crowd have the same neighbours.
  const others = new Map<string, OtherInstall | null>()
  const other = (uuid: string) => {
    if (!others.has(uuid)) others.set(uuid, otherOf(neighbours.facts.get(uuid) ?? []))
    return others.get(uuid)!
  }
  return {
    ...neighbours,
    pushedOut,
    open,
    clicks_deleted_before_ms: work.app.clicks_deleted_before_ms,
    claims: claims.filter(({ install_uuid }) => !decided.has(install_uuid)),
    isErasedClick: work.isErasedClick,
    isFlooded: ({ clicked_at_ms, partner, campaign }) =>
      flooded.has(sourceName({ day: utcDay(clicked_at_ms), partner, campaign })),
    isBlocked: ({ is_sdk, ip, received_at_ms }) =>
      is_sdk &&
      ip !== null &&
      (hitTimes.get(addressBlock(ip)) ?? []).some(({ clicked_at_ms }) => isBlockedAt(received_at_ms, clicked_at_ms)),
    isDatacenter: ({ is_sdk, ip }) => is_sdk && ip !== null && geo.lookUp(ip).datacenter,
    othersOf: (install) => neighbours.sharingBefore(install).flatMap((uuid) => other(uuid) ?? []),
  }
}

/** Installs with new install events and those that are decided again, in the order in which they are decided. */
function installsOf({ facts, again }: AppWork, own: KnownFacts['own']): InstallFact[] {
  const changed = facts.flatMap(({ kind, install_uuid }) => (kind === 'install' ? install_uuid : []))
  const found = [...new Set([...changed, ...again])].flatMap((uuid) => installOf(own.get(uuid) ?? []) ?? [])
  return found.toSorted(byInstall)
}

/** The same with their candidates. */
async function openInstalls(
  lookups: Lookups,
  { app, windowsOf, isErasedClick }: AppWork,
  own: KnownFacts['own'],
  { crowdsOf }: Neighbours,
  installs: readonly InstallFact[],
): Promise<OpenInstall[]> {
  const newest = await lookups.newest(
    app.app_id,
    installs.map(({ install_uuid }) => install_uuid),
  )
  const open = installs.map((install) => {
    const before = newest.get(install.install_uuid) ?? null
    const crowds = crowdsOf(install)
    const seen = withCrowds(install, crowds)
    return { install, seen, crowds, newest: before, windows: windowsOf(install, before) }
  })
  const ranges = open.flatMap(({ seen, windows }) => clickRanges(seen, clickWindowsOf(windows)))
  const named = new Set(open.flatMap(({ seen }) => namedClicks(seen)))
  const clicksFor = indexClicks(await lookups.clicks(app.app_id, [...named], ranges))
  const pause = createPauses()
  const found: OpenInstall[] = []
  for (const one of open) {
    await pause()
    found.push(withClicks(one))
  }
  return found

  function withClicks({ seen, ...one }: (typeof open)[number]): OpenInstall {
    const clickWindows = clickWindowsOf(one.windows)
    const found = withKept(clicksFor(seen, clickWindows), one.newest, isErasedClick)
    const known = recallLikeness(seen, found, one.newest)
    const shown = new Set(candidatesOf(known.clues, known.clicks, clickWindows).map(({ click_id }) => click_id))
    const clicks = found.filter(({ click_id }) => shown.has(click_id))
    return { ...one, facts: own.get(one.install.install_uuid)!, clicks }
  }
}

/** Facts as they are stored, and those of the batch, which an engine may show a moment later. */
function withFacts(stored: ReadonlyMap<string, readonly Fact[]>, facts: readonly Fact[]): Map<string, readonly Fact[]> {
  const all = new Map(stored)
  for (const [uuid, added] of Map.groupBy(facts, ({ install_uuid }) => install_uuid)) {
    const known = all.get(uuid) ?? []
    all.set(uuid, [...known, ...added.filter((fact) => !known.some(({ place }) => byPlace(place, fact.place) === 0))])
  }
  return all
}

const blockRange = ({ ip, received_at_ms: at_ms }: InstallFact) => ({
  ...{ match_key: matchKey('block', addressBlock(ip!)), at_ms },
  ...{ from_ms: at_ms - limits.honeypot_block_ms + 1, to_ms: at_ms + 1 },
  // A hit wins nothing.
  ...{ window_ms: 0, window_ms_max: 0 },
})
