import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import type { DecidedInstall } from '@tributary/deciding/decide-in-order'
import type { AppWork, Evidence } from '@tributary/deciding/evidence'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { clickWindowsOf } from '@tributary/domain/attribute/attribute'
import { installOf } from '@tributary/domain/attribute/install-of'
import { methodOf } from '@tributary/domain/attribute/match-click'
import { clickKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { byInstall, byPlace, type Claim } from '@tributary/domain/attribute/verdict'
import { createPauses } from '@tributary/service-kit/service/pauses'
import type { InstallOfApp } from '@tributary/tables/attribution/redecisions'

/** A click whose owner has changed; installs up to `since` are not touched by that. */
interface ChangedClick {
  click: KeptClick
  since: Claim
}

/**
 * Installs that are to be decided again because of what was decided, or what was found, about the installs of a batch
 * (docs/attribution.md#re-decisions). All of them are later than what changed, by install time or by receipt.
 */
export async function findTouched(
  lookups: Lookups,
  { app, facts }: AppWork,
  evidence: Evidence,
  decided: readonly DecidedInstall[],
): Promise<InstallOfApp[]> {
  const { app_id } = app
  // Decided with the facts of the whole batch, and after the decisions that they depend on.
  const decidedNow = new Set(decided.map(({ install }) => install.install_uuid))
  const [clicks, neighbours] = await Promise.all([
    findByClicks(lookups, app_id, decided, decidedNow),
    findByNeighbours(lookups, app_id, facts, evidence, decided, decidedNow),
  ])
  return [...new Set([...clicks, ...neighbours])].map((install_uuid) => ({ app_id, install_uuid }))
}

/** Where an install stood before, if it had been decided, and where it stands now: the earlier of both. */
const sinceOf = ({ install, newest }: DecidedInstall): Claim =>
  newest !== null && byInstall(newest, install) < 0 ? newest : install

const isMoved = ({ install, newest }: DecidedInstall): boolean =>
  newest === null || byPlace(newest.place, install.place) !== 0 || newest.installed_at_ms !== install.installed_at_ms

/** Clicks that an install won, lost or set free, or that it holds from another time on. */
function changedClicks(one: DecidedInstall): ChangedClick[] {
  const before = one.newest?.verdict?.click_id ?? null
  const after = one.decided.verdict?.click_id ?? null
  if (before === after && !isMoved(one)) return []
  const since = sinceOf(one)
  const known = [...one.clicks, ...(one.newest?.clicks ?? [])]
  return [...new Set([before, after])].flatMap((click_id) => {
    const click = known.find((candidate) => candidate.click_id === click_id)
    return click === undefined ? [] : [{ click, since }]
  })
}

async function findByClicks(
  lookups: Lookups,
  app_id: string,
  decided: readonly DecidedInstall[],
  decidedNow: ReadonlySet<string>,
): Promise<string[]> {
  const pause = createPauses()
  const seen: (ChangedClick & { match_key: string })[] = []
  for (const one of decided) {
    await pause()
    for (const changed of changedClicks(one))
      for (const match_key of keysOf(changed.click)) seen.push({ ...changed, match_key })
  }
  const rows = await lookups.firstByKey(
    app_id,
    seen.map(({ click, match_key }) => ({ match_key, installed_from_ms: click.clicked_at_ms })),
  )
  const later: string[][] = []
  for (const [n, { since }] of seen.entries()) {
    await pause()
    const of = rows[n]!.filter((row) => byInstall(since, row) < 0 && !decidedNow.has(row.install_uuid))
    later.push(of.map(({ install_uuid }) => install_uuid))
  }
  const facts = await lookups.facts(app_id, [...new Set(later.flat())], { user_keys: [] })
  const touched = new Set<string>()
  for (const [n, { click, since }] of seen.entries()) {
    await pause()
    for (const uuid of later[n]!) if (!touched.has(uuid) && isTouched(facts.get(uuid), click, since)) touched.add(uuid)
  }
  return [...touched]
}

/** Where matching by address is off, the decision finds nothing changed. */
const widest = clickWindowsOf({ click_hours: 0, probabilistic_hours: 0, reinstall_days: 0 })

function isTouched(facts: readonly Fact[] | undefined, click: KeptClick, since: Claim): boolean {
  const install = facts === undefined ? null : installOf(facts)
  if (install === null || byInstall(since, install) >= 0) return false
  // The shared key alone tells of an install without its address.
  return install.ip === null || methodOf(install, click, widest) !== null
}

const keysOf = (click: KeptClick): string[] => [matchKey('click', click.click_id), ...clickKeys(click)]

/**
 * Later installs of the same device or user, SDK installs of the same network received within the hour after, and installs
 * that a key with many installs hides from clicks now (docs/rules.md#how-far-a-click-is-seen).
 */
async function findByNeighbours(
  lookups: Lookups,
  app_id: string,
  facts: readonly Fact[],
  evidence: Evidence,
  decided: readonly DecidedInstall[],
  decidedNow: ReadonlySet<string>,
): Promise<string[]> {
  const aliased = facts.filter(({ kind }) => kind === 'alias').map(({ install_uuid }) => install_uuid)
  const moved = decided.filter(isMoved)
  const sources = [
    ...moved.map((one) => ({ own: one.facts, since: sinceOf(one), added: one.newest === null })),
    ...[...new Set(aliased)].flatMap((uuid) => {
      const own = evidence.facts.get(uuid) ?? []
      const since = installOf(own)
      const out = evidence.pushedOut.get(uuid) ?? []
      return since === null
        ? []
        : [
            { own, since, added: true },
            { own: out, since, added: false },
          ]
    }),
  ]
  const pause = createPauses()
  const near: { source: (typeof sources)[number]; sharing: string[]; inNetwork: string[] }[] = []
  for (const source of sources) {
    await pause()
    const inNetwork = source.own.flatMap((fact) => (fact.kind === 'install' ? evidence.after(fact) : []))
    const sharing = evidence.sharingAfter(...source.own).filter((uuid) => {
      if (decidedNow.has(uuid)) return false
      const other = installOf(evidence.facts.get(uuid) ?? [])
      return other !== null && byInstall(source.since, other) < 0
    })
    near.push({ source, sharing, inNetwork: inNetwork.filter((uuid) => !decidedNow.has(uuid)) })
  }
  const named = new Set(near.flatMap(({ sharing, inNetwork }) => [...sharing, ...inNetwork]))
  const newest = await lookups.newest(app_id, [...named])
  const pushed = evidence.pushedBy(facts).filter((uuid) => !decidedNow.has(uuid))
  return [...new Set([...near.flatMap(touchedBy), ...pushed])]

  /** What is only added to others takes no flag away from them. */
  function touchedBy({ source: { added }, sharing, inNetwork }: (typeof near)[number]): string[] {
    const verdictOf = (uuid: string) => newest.get(uuid)?.verdict
    return [
      ...sharing.filter((uuid) => !(added && verdictOf(uuid)?.reinstall === true)),
      ...inNetwork.filter((uuid) => !(added && verdictOf(uuid)?.fraud_flags.includes('install_burst') === true)),
    ]
  }
}
