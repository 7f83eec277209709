import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { nearestClicks, nearestTo } from '@tributary/domain/attribute/candidates'
import { type ClickRange, clickRanges, namedClicks } from '@tributary/domain/attribute/match-click'
import { clickKeys } from '@tributary/domain/attribute/match-keys'
import type { ClickWindows } from '@tributary/domain/attribute/verdict'
import { firstIndex } from '@tributary/domain/first-index'

/** Gives the clicks that an install names, and of each of its ranges those that `nearestClicks` takes. */
export type FindNearest = (install: InstallFact, windows: ClickWindows) => KeptClick[]

/**
 * Finds the clicks that may be candidates of an install. It does not look at every click of an address: strangers decide
 * how many clicks and how many installs an address has.
 */
export function indexClicks(clicks: readonly KeptClick[]): FindNearest {
  const byId = Map.groupBy(clicks, ({ click_id }) => click_id)
  const byKey = new Map<string, KeptClick[]>()
  for (const click of clicks.toSorted(nearestTo(Number.POSITIVE_INFINITY))) {
    for (const key of new Set(clickKeys(click))) {
      const known = byKey.get(key)
      if (known === undefined) byKey.set(key, [click])
      else known.push(click)
    }
  }
  return (install, windows) => {
    const named = namedClicks(install).flatMap((id) => byId.get(id) ?? [])
    const near = clickRanges(install, windows).flatMap((range) => nearestIn(byKey.get(range.match_key) ?? [], range))
    return [...new Set([...named, ...near])]
  }
}

/** Clicks of a range that `nearestClicks` takes, out of clicks of which the latest is first. */
const nearestIn = (latestFirst: readonly KeptClick[], range: ClickRange): KeptClick[] =>
  nearestClicks(
    latestFirst.slice(firstBefore(latestFirst, range.to_ms), firstBefore(latestFirst, range.from_ms)),
    range,
  )

/** Index of the first click before a time, of clicks from the latest on. */
const firstBefore = (latestFirst: readonly KeptClick[], ms: number): number =>
  firstIndex(latestFirst, ({ clicked_at_ms }) => clicked_at_ms < ms)
