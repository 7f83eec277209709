import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { type CandidateKind, candidateBounds, isCandidate } from '@tributary/domain/attribute/candidates'
import { isBlockedAt } from '@tributary/domain/attribute/fraud'
import { clickAddressKeys, deviceKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { isGone, type Tombstones } from '@tributary/domain/erasure/tombstones'
import { createPauses, type Pause } from '@tributary/service-kit/service/pauses'
import { findInstallsByKeys, type KeyedInstall } from '@tributary/tables/attribution/installs-by-key'
import { findFirstByKey, type KeyFact } from '@tributary/tables/attribution/key-facts'
import type { InstallOfApp } from '@tributary/tables/attribution/redecisions'
import { installName } from '@tributary/tables/attribution/verdicts'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { loadEarlier } from './earlier-clicks.ts'

export interface LateClickDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  apps: Pick<AttributionApps, 'find'>
  tombstones: Tombstones
}

/** An install that is to be decided again, and the kind of click that it is decided again for. */
export interface Redecision extends InstallOfApp {
  reason: 'click' | 'honeypot'
}

/** Installs that are decided again for the same reason. Some may be erased. */
interface Touched extends Pick<Redecision, 'reason'> {
  installs: readonly (InstallOfApp & { received_at_ms: number })[]
}

/**
 * Installs whose decision these clicks may change, a page at a time: those for which one is a candidate,
 * and for hits of a honeypot those whose address it blocks, in all apps of the company (docs/attribution.md#re-decisions).
 *
 * Clicks mostly come before their install, and then nothing is found: a search costs one statement for all clicks. The
 * clicks must be in their table: an install that is stored later is decided with them.
 */
export async function* findRedecisions(deps: LateClickDeps, clicks: readonly Click[]): AsyncGenerator<Redecision[]> {
  const found = new Set<string>()
  for await (const { reason, installs } of findTouched(deps, clicks)) {
    const fresh = installs.filter((install) => isLiving(deps, install) && !found.has(installName(install)))
    for (const install of fresh) found.add(installName(install))
    if (fresh.length > 0) yield fresh.map(({ app_id, install_uuid }) => ({ app_id, install_uuid, reason }))
  }
}

/** The entry of a locked app waits in the list. */
const isLiving = ({ tombstones }: LateClickDeps, install: Touched['installs'][number]): boolean =>
  tombstones.isLocked(install.app_id) || !isGone(tombstones, install)

async function* findTouched(deps: LateClickDeps, clicks: readonly Click[]): AsyncGenerator<Touched> {
  const hits = clicks.filter(({ filtered_reason }) => filtered_reason === 'honeypot')
  const others = clicks.filter(({ filtered_reason }) => filtered_reason !== 'honeypot')
  const searches: [CandidateKind, readonly Click[], (click: Click) => string[]][] = [
    ['click', clicks, ({ click_id }) => [matchKey('click', click_id)]],
    ['device', others, deviceKeys],
    ['address', others, clickAddressKeys],
  ]
  const pause = createPauses()
  for (const [kind, of, keysOf] of searches) {
    const clues: Clue[] = []
    for (const click of of) {
      await pause()
      clues.push(...keysOf(click).map((match_key) => ({ click, match_key })))
    }
    yield { reason: 'click', installs: await findSeeing(deps, kind, clues, pause) }
  }
  for await (const installs of findBlocked(deps, hits)) yield { reason: 'honeypot', installs }
}

/** A click and a key by which an install of its app may see it. */
interface Clue {
  click: Click
  match_key: string
}

/** Installs that see one of these clicks (docs/rules.md#how-far-a-click-is-seen). */
async function findSeeing(deps: LateClickDeps, kind: CandidateKind, clues: readonly Clue[], pause: Pause) {
  const after_ms = kind === 'click' ? Number.POSITIVE_INFINITY : candidateBounds[kind].after_ms
  // Installs before the click see it if no crowd is before them, so they are the first of their time as well.
  const ranges = clues.flatMap(({ click: { app_id, clicked_at_ms }, match_key }) =>
    [clicked_at_ms, Math.max(0, clicked_at_ms - after_ms)].map((installed_from_ms) => ({
      ...{ app_id, match_key, installed_from_ms },
    })),
  )
  const rows = await findFirstByKey(deps.clickhouse, ranges, (fact) => isLiving(deps, fact))
  const apps = kind === 'address' ? await appsOf(deps.apps, clues) : null
  const matched = new Map<string, Matched>()
  for (const [n, clue] of clues.entries()) {
    await pause()
    for (const install of [...rows[2 * n]!, ...rows[2 * n + 1]!]) {
      const settings = apps?.get(install.app_id)?.settingsAt(install.received_at_ms) ?? null
      if (!isCandidate(kind, install, clue.click, settings)) continue
      const name = `${installName(install)}/${install.installed_at_ms}`
      const known = matched.get(name)
      if (known === undefined) matched.set(name, { install, all: [clue] })
      else known.all.push(clue)
    }
  }
  if (kind === 'click') return [...matched.values()].map(({ install }) => install)
  return withoutCrowded(deps.clickhouse, [...matched.values()], after_ms)
}

interface Matched {
  install: KeyFact
  /** What it matches, at least one. */
  all: Clue[]
}

/** Installs with a click that is not after them, or that is one of the earliest after them. */
async function withoutCrowded(clickhouse: LateClickDeps['clickhouse'], matched: readonly Matched[], after_ms: number) {
  const isBefore = ({ click }: Clue, { installed_at_ms }: KeyFact) => click.clicked_at_ms <= installed_at_ms
  const late = matched.filter(({ install, all }) => !all.some((clue) => isBefore(clue, install)))
  const isEarliest = await loadEarlier(clickhouse, [...new Set(late.flatMap(({ all }) => all))], after_ms)
  const crowded = new Set(
    late.filter(({ install, all }) => !all.some((clue) => isEarliest(clue, install.installed_at_ms))),
  )
  return matched.filter((one) => !crowded.has(one)).map(({ install }) => install)
}

async function appsOf(apps: LateClickDeps['apps'], clues: readonly Clue[]) {
  const ids = [...new Set(clues.map(({ click }) => click.app_id))]
  return new Map(await Promise.all(ids.map(async (id) => [id, await apps.find(id)] as const)))
}

/** Installs of all apps of a company that a hit of a honeypot blocks, page by page. */
async function* findBlocked({ clickhouse, apps }: LateClickDeps, hits: readonly Click[]) {
  if (hits.length === 0) return
  const clues = await Promise.all(
    hits.map(async ({ app_id, ip, clicked_at_ms }) => {
      const app_ids = (await apps.find(app_id))?.company_apps ?? [app_id]
      return { app_ids, clicked_at_ms, match_key: matchKey('block', addressBlock(ip)) }
    }),
  )
  const times = hits.map(({ clicked_at_ms }) => clicked_at_ms)
  const byKey = Map.groupBy(clues, ({ match_key }) => match_key)
  const blocks = (install: KeyedInstall) =>
    byKey
      .get(install.key)!
      .some((hit) => hit.app_ids.includes(install.app_id) && isBlockedAt(install.received_at_ms, hit.clicked_at_ms))
  const pages = findInstallsByKeys(clickhouse, {
    app_ids: [...new Set(clues.flatMap(({ app_ids }) => app_ids))],
    match_keys: [...byKey.keys()],
    received_from_ms: Math.min(...times),
    received_to_ms: Math.max(...times) + limits.honeypot_block_ms,
  })
  for await (const page of pages) yield page.filter(blocks)
}
