import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import { limits } from '@tributary/contracts/limits'
import type { Flood, Lookups } from '@tributary/deciding/lookups/lookups'
import { nearestClicks } from '@tributary/domain/attribute/candidates'
import { decidingAliases } from '@tributary/domain/attribute/install-of'
import type { ClickRange } from '@tributary/domain/attribute/match-click'
import { clickKeys, factKeys } from '@tributary/domain/attribute/match-keys'
import { byInstall } from '@tributary/domain/attribute/verdict'
import type { KeyFact } from '@tributary/tables/attribution/key-facts'

/** The tables that `Lookups` reads, in memory. */
export interface MemoryTables {
  facts: Fact[]
  clicks: KeptClick[]
  /** The newest written decision of each install. */
  newest: Map<string, Decision>
  floods: Flood[]
}

/** The twin of `clickhouseLookups`: the same promises over arrays. */
export function memoryLookups(tables: MemoryTables): Lookups {
  const known = new WeakMap<KeptClick, string[]>()
  const keysOf = (click: KeptClick) => {
    const keys = known.get(click) ?? clickKeys(click)
    known.set(click, keys)
    return keys
  }
  const factsOf = (app_id: string) => tables.facts.filter((fact) => fact.app_id === app_id)
  const clicksOf = (apps: readonly string[]) => tables.clicks.filter((click) => apps.includes(click.app_id))
  const newestOf = (app_id: string) => [...tables.newest.values()].filter((decision) => decision.app_id === app_id)
  const inRange = (apps: readonly string[], range: ClickRange) =>
    nearestClicks(
      clicksOf(apps).filter((click) => {
        const { clicked_at_ms } = click
        return clicked_at_ms >= range.from_ms && clicked_at_ms < range.to_ms && keysOf(click).includes(range.match_key)
      }),
      range,
    )
  const keyed = (app_id: string, match_key: string, from_ms: number): KeyFact[] =>
    factsOf(app_id)
      .flatMap((fact) => (fact.kind === 'install' && factKeys(fact).includes(match_key) ? { ...fact, match_key } : []))
      .filter(({ installed_at_ms }) => installed_at_ms >= from_ms)
      .toSorted(byInstall)
  return {
    async facts(app_id, uuids, { user_keys, users_more = 0 } = {}) {
      const found = factsOf(app_id).filter(({ install_uuid }) => uuids.includes(install_uuid))
      const deciding = [...Map.groupBy(found, ({ install_uuid }) => install_uuid)].map(([uuid, of]) => {
        const aliases = decidingAliases(of, limits.install_aliases_max + users_more).filter(
          (alias) => user_keys === undefined || factKeys(alias).some((key) => user_keys.includes(key)),
        )
        return [uuid, [...of.filter(({ kind }) => kind === 'install'), ...aliases]] as [string, Fact[]]
      })
      return new Map(deciding.filter(([, of]) => of.length > 0))
    },
    newest: async (app_id, uuids) =>
      new Map(
        newestOf(app_id).flatMap((one) => (uuids.includes(one.install_uuid) ? [[one.install_uuid, one] as const] : [])),
      ),
    claims: async (app_id, click_ids) =>
      newestOf(app_id).flatMap(({ verdict, install_uuid, installed_at_ms, place }) => {
        const click_id = verdict?.click_id ?? null
        return click_id !== null && click_ids.includes(click_id)
          ? [{ click_id, install_uuid, installed_at_ms, place }]
          : []
      }),
    clicks: async (app_id, click_ids, ranges) => [
      ...new Set([
        ...clicksOf([app_id]).filter(({ click_id }) => click_ids.includes(click_id)),
        ...ranges.flatMap((range) => inRange([app_id], range)),
      ]),
    ],
    installs: async (app_id, ranges) =>
      ranges.flatMap(({ match_key, received_from_ms, received_to_ms }) =>
        factsOf(app_id).flatMap((fact) => {
          const { install_uuid, received_at_ms } = fact
          const found = isWithin(received_at_ms, received_from_ms, received_to_ms) && factKeys(fact).includes(match_key)
          return found ? [{ match_key, install_uuid, received_at_ms }] : []
        }),
      ),
    async lastByKey(app_id, { match_keys, installed_from_ms }, isLiving = () => true) {
      return new Map(
        match_keys.map((key) => {
          const latest = keyed(app_id, key, installed_from_ms).slice(-limits.key_facts_max)
          return [key, { rows: latest.filter(isLiving), cut: latest.length >= limits.key_facts_max }]
        }),
      )
    },
    aroundByKey: async (app_id, keys, isLiving = () => true) =>
      keys.map(({ match_key }) => keyed(app_id, match_key, 0).filter(isLiving)),
    firstByKey: async (app_id, ranges, isLiving = () => true) =>
      ranges.map(({ match_key, installed_from_ms }) =>
        keyed(app_id, match_key, installed_from_ms).filter(isLiving).slice(0, limits.crowd_facts),
      ),
    hits: async (apps, ranges) => ranges.flatMap((range) => inRange(apps, range)),
    floods: async (_app_id, days) => tables.floods.filter(({ day }) => days.includes(day)),
  }
}

const isWithin = (ms: number, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY) => ms >= from && ms < to
