import { findInstallsByKeys, type KeyBounds, type KeyedInstall } from '@tributary/attribution/installs-by-key'
import type { Redecision, RedecisionReason } from '@tributary/attribution/redecisions'
import { installName } from '@tributary/attribution/verdicts'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import { type CandidateKind, candidateBounds, isCandidate } from '@tributary/domain/attribute/candidates'
import { isBlockedAt } from '@tributary/domain/attribute/fraud'
import { clickAddressKeys, deviceKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { isGone, type Tombstones } from '@tributary/domain/erasure/tombstones'
import type { AttributionApp, AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { loadEarlier } from './earlier-clicks.ts'

export interface LateClickDeps {
  clickhouse: Pick<Clickhouse, 'query'>
  apps: Pick<AttributionApps, 'find'>
  tombstones: Tombstones
}

/** What an install in one of these apps may be found by. */
interface Clue {
  click: Click
  app_ids: readonly string[]
  match_key: string
}

interface Search {
  reason: RedecisionReason
  bounds: KeyBounds
  clues: Clue[]
  matches(install: KeyedInstall, click: Click, app: AttributionApp | null): boolean
  /** Whether `matches` reads the settings of the app. */
  by_settings?: boolean
  /** Of the clicks after an install, less than so long, only the earliest concern it; all where absent, ms. */
  after_ms?: number
}

/**
 * Installs whose decision these clicks may change, a page at a time: those for which one is a candidate,
 * and for hits of a honeypot those whose address it blocks, in all apps of the company (docs/attribution.md#re-decisions).
 *
 * Clicks mostly come before their install, and then nothing is found: a search costs one statement for all clicks. The
 * clicks must be in their table: an install that is stored later is decided with them.
 */
export async function* findWishes(deps: LateClickDeps, clicks: readonly Click[]): AsyncGenerator<Redecision[]> {
  const wished = new Set<string>()
  for (const search of await searchesFor(deps, clicks)) {
    for await (const installs of findInstalls(deps, search)) {
      // The entry of a locked app waits in the list.
      const living = installs.filter(
        (install) => deps.tombstones.isLocked(install.app_id) || !isGone(deps.tombstones, install),
      )
      const fresh = living.filter((install) => !wished.has(installName(install)))
      for (const install of fresh) wished.add(installName(install))
      const { reason } = search
      const wishes = fresh.map(({ app_id, install_uuid }) => ({ app_id, install_uuid, reason }))
      if (wishes.length > 0) yield wishes
    }
  }
}

async function searchesFor({ apps }: LateClickDeps, clicks: readonly Click[]): Promise<Search[]> {
  const hits = clicks.filter(({ filtered_reason }) => filtered_reason === 'honeypot')
  const others = clicks.filter(({ filtered_reason }) => filtered_reason !== 'honeypot')
  const blocked = await Promise.all(hits.map(async (click) => blockClue(click, await apps.find(click.app_id))))
  return [
    candidateSearch('click', clicks, ({ click_id }) => [matchKey('click', click_id)]),
    candidateSearch('device', others, deviceKeys),
    candidateSearch('address', others, clickAddressKeys),
    {
      reason: 'honeypot',
      clues: blocked,
      bounds: boundsOf(hits, ({ from_ms, to_ms }) => ({
        received_from_ms: from_ms,
        received_to_ms: to_ms + limits.honeypot_block_ms,
      })),
      matches: ({ received_at_ms }, { clicked_at_ms }) => isBlockedAt(received_at_ms, clicked_at_ms),
    },
  ]
}

const blockClue = (click: Click, app: AttributionApp | null): Clue => ({
  ...{ click, app_ids: app?.company_apps ?? [click.app_id], match_key: matchKey('block', addressBlock(click.ip)) },
})

function candidateSearch(kind: CandidateKind, clicks: readonly Click[], keysOf: (click: Click) => string[]): Search {
  const clues = clicks.flatMap((click) =>
    keysOf(click).map((match_key) => ({ click, app_ids: [click.app_id], match_key })),
  )
  return {
    reason: 'click',
    clues,
    bounds: kind === 'click' ? {} : boundsOf(clicks, (times) => installTimes(candidateBounds[kind], times)),
    matches: (install, click, app) =>
      isCandidate(kind, install, click, app?.settingsAt(install.received_at_ms) ?? null),
    by_settings: kind === 'address',
    ...(kind !== 'click' && { after_ms: candidateBounds[kind].after_ms }),
  }
}

interface Times {
  from_ms: number
  to_ms: number
}

/** The first and last click decide which part of a key is read; a backend may give times ahead of its clock. */
const installTimes = (
  { before_ms, after_ms }: { before_ms: number; after_ms: number },
  { from_ms, to_ms }: Times,
): KeyBounds => ({
  received_from_ms: from_ms - after_ms - limits.event_ts_ahead_ms_max,
  installed_from_ms: from_ms - after_ms,
  installed_to_ms: to_ms + before_ms + 1,
})

function boundsOf(clicks: readonly Click[], bounds: (times: Times) => KeyBounds): KeyBounds {
  const times = clicks.map(({ clicked_at_ms }) => clicked_at_ms)
  return times.length === 0 ? {} : bounds({ from_ms: Math.min(...times), to_ms: Math.max(...times) })
}

/** Installs that one of the clicks matches, page by page. */
async function* findInstalls({ clickhouse, apps }: LateClickDeps, search: Search) {
  const { clues, bounds, matches, by_settings, after_ms } = search
  if (clues.length === 0) return
  const byKey = Map.groupBy(clues, ({ match_key }) => match_key)
  const app_ids = [...new Set(clues.flatMap((clue) => clue.app_ids))]
  const match_keys = [...new Set(clues.map((clue) => clue.match_key))]
  for await (const page of findInstallsByKeys(clickhouse, { app_ids, match_keys, ...bounds })) {
    const known = by_settings === true ? await appsOf(apps, page) : new Map<string, AttributionApp | null>()
    const matched = page.flatMap((install) => {
      const all = (byKey.get(install.key) ?? []).filter(({ app_ids: ofClick, click }) => {
        return ofClick.includes(install.app_id) && matches(install, click, known.get(install.app_id) ?? null)
      })
      return all.length === 0 ? [] : [{ install, all }]
    })
    yield after_ms === undefined
      ? matched.map(({ install }) => install)
      : await withoutCrowded(clickhouse, matched, after_ms)
  }
}

interface Matched {
  install: KeyedInstall
  /** What it matches, at least one. */
  all: readonly Clue[]
}

/** Installs with a click that is not after them, or that is one of the earliest after them. */
async function withoutCrowded(clickhouse: LateClickDeps['clickhouse'], matched: readonly Matched[], after_ms: number) {
  const isBefore = ({ click }: Clue, { installed_at_ms }: KeyedInstall) => click.clicked_at_ms <= installed_at_ms
  const late = matched.filter(({ install, all }) => !all.some((clue) => isBefore(clue, install)))
  const isEarliest = await loadEarlier(clickhouse, [...new Set(late.flatMap(({ all }) => all))], after_ms)
  const crowded = new Set(
    late.filter(({ install, all }) => !all.some((clue) => isEarliest(clue, install.installed_at_ms))),
  )
  return matched.filter((one) => !crowded.has(one)).map(({ install }) => install)
}

async function appsOf(apps: Pick<AttributionApps, 'find'>, page: readonly KeyedInstall[]) {
  const ids = [...new Set(page.map(({ app_id }) => app_id))]
  return new Map(await Promise.all(ids.map(async (id) => [id, await apps.find(id)] as const)))
}
