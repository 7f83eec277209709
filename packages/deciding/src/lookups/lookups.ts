import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { Fact } from '@tributary/contracts/attribution/found'
import type { ClickRange } from '@tributary/domain/attribute/match-click'
import type { DecidingFacts } from '@tributary/tables/attribution/facts'
import type { KeyFact, KeyFacts, KeyOfInstall, KeyRange } from '@tributary/tables/attribution/key-facts'
import type { WrittenClaim } from '@tributary/tables/attribution/verdicts'

/** Facts with a key, within exact times. An absent time is no bound; `received_to_ms` is exclusive. */
export interface InstallRange {
  /** See `matchKey`. */
  match_key: string
  received_from_ms?: number
  received_to_ms?: number
}

/** A fact that has a key. */
export interface KeyedFact {
  match_key: string
  install_uuid: string
  received_at_ms: number
}

interface LastByKey {
  match_keys: readonly string[]
  installed_from_ms: number
}

type FirstByKey = Omit<KeyRange, 'app_id'>

/** Whether a fact is not of an erased life. */
export type IsLiving = (fact: KeyFact) => boolean

/** A hit of a honeypot. */
type BlockingHit = Pick<KeptClick, 'app_id' | 'click_id' | 'ip' | 'clicked_at_ms'>

/** A source of clicks that flooded on a UTC day. */
export interface Flood {
  /** `YYYY-MM-DD`. */
  day: string
  partner: string
  campaign: string | null
}

/** Everything that decisions read: what was written before, the facts of the batch included. */
export interface Lookups {
  /** Those that may decide. See `findDecidingFacts`. */
  facts(app_id: string, install_uuids: readonly string[], asked?: DecidingFacts): Promise<Map<string, Fact[]>>
  /** The newest written decisions. */
  newest(app_id: string, install_uuids: readonly string[]): Promise<Map<string, Decision>>
  claims(app_id: string, click_ids: readonly string[]): Promise<WrittenClaim[]>
  /** Clicks by id, and of each range those that `nearestClicks` takes; perhaps others. */
  clicks(app_id: string, click_ids: readonly string[], ranges: readonly ClickRange[]): Promise<KeptClick[]>
  /** Facts with one of these keys; of a key the newest `of_key_max`, `key_facts_max` by default. */
  installs(app_id: string, ranges: readonly InstallRange[], of_key_max?: number): Promise<KeyedFact[]>
  /** Install events by key, from the earliest on: of each key the latest, and none before a time. See `findLastByKey`. */
  lastByKey(app_id: string, keys: LastByKey, isLiving?: IsLiving): Promise<Map<string, KeyFacts>>
  /** Install events around an install by key. See `findAround`. */
  aroundByKey(app_id: string, keys: readonly KeyOfInstall[], isLiving?: IsLiving): Promise<KeyFact[][]>
  /** The first install events of each range that see a click. See `findFirstByKey`. */
  firstByKey(app_id: string, ranges: readonly FirstByKey[], isLiving?: IsLiving): Promise<KeyFact[][]>
  /** Hits of honeypots of these apps, by the block of their address. */
  hits(app_ids: readonly string[], ranges: readonly ClickRange[]): Promise<BlockingHit[]>
  floods(app_id: string, days: readonly string[]): Promise<Flood[]>
}

/** More than the installs that one address has in a month, or one network in two hours, but for an attack. */
export const key_facts_max = 20_000
