import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact, Place } from '@tributary/contracts/attribution/found'
import type { Candidate, Method } from '@tributary/contracts/attribution/verdict'

/**
 * Version of the rules: it is raised whenever the same input may give another verdict. It is stored with each verdict.
 */
export const rule_version = 2

/**
 * The keys that at least `crowd_facts` install facts before this install have. The value is the install time of the `crowd_facts`th such
 * fact, counted back from the install (docs/rules.md#crowded-keys).
 */
export type Crowds = ReadonlyMap<string, number>

/** The facts of an install event that decide which click it came from. */
export type InstallClues = Pick<
  InstallFact,
  | 'installed_at_ms'
  | 'received_at_ms'
  | 'place'
  | 'ip'
  | 'os_major'
  | 'model'
  | 'device_hashes'
  | 'referrer'
  | 'named_click'
> & {
  /** See `withCrowds`; none where absent. */
  crowds?: Crowds
}

/** The windows of an app. */
export interface ClickWindows {
  click_ms: number
  probabilistic_ms: number
  /** Matching by address and version is off on iOS by default. */
  probabilistic: boolean
}

/** The holder of a click: the install whose newest verdict names it. */
export interface Claim {
  installed_at_ms: number
  place: Place
}

/** Which click an install came from. */
export interface ClickChoice {
  /** null: organic, or pending. */
  click: KeptClick | null
  method: Method | null
  /** True while a click that we signed is not there yet: nothing is decided until then. */
  pending: boolean
  forged: boolean
  /** Best first. */
  candidates: Candidate[]
}

/** Earlier of two installs: install time, then position on the log (docs/rules.md#order-of-methods). */
export const byInstall = (a: Claim, b: Claim): number =>
  byTime({ at_ms: a.installed_at_ms, place: a.place }, { at_ms: b.installed_at_ms, place: b.place })

/** Earlier of two installs, or of two clicks: time, then position on the log. Names of logs sort by time. */
export const byTime = (a: { at_ms: number; place: Place }, b: { at_ms: number; place: Place }): number =>
  a.at_ms - b.at_ms || byPlace(a.place, b.place)

/** Earlier of two positions. Each partition has logs of its own, so the partition is compared before the log. */
export const byPlace = (a: Place, b: Place): number =>
  byText(topicOf(a), topicOf(b)) ||
  a.partition - b.partition ||
  byText(a.topic, b.topic) ||
  a.offset - b.offset ||
  a.index - b.index

const byText = (a: string, b: string): number => Number(a > b) - Number(a < b)
/** `events.accepted.v1@<log>` without the log. */
const topicOf = ({ topic }: Place): string => topic.slice(0, topic.lastIndexOf('@'))
