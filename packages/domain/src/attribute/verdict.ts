import type { ClickToken } from './click-token.ts'

/** Counts up whenever the same input may give another verdict; stored with each. */
export const rule_version = 1

/** From the strongest to the weakest. */
export const methods = ['install_referrer', 'click_id', 'device_id', 'probabilistic'] as const
export type Method = (typeof methods)[number]

export const lostReasons = [
  'older_click',
  'weaker_method',
  'outside_window',
  'after_install',
  'click_already_used',
  'ambiguous',
  'filtered',
  'bad_signature',
  'unsigned',
  'unknown_click',
] as const
export type LostReason = (typeof lostReasons)[number]

/** Place on a topic: partition, then offset. */
export interface Place {
  partition: number
  offset: number
}

/** What decides of an install, from its install event. Times are Unix epoch milliseconds. */
export interface InstallFacts {
  install_uuid: string
  installed_at_ms: number
  received_at_ms: number
  place: Place
  /** null where the sender is a backend that did not tell it: its own address never matches. */
  ip: string | null
  os_major: number | null
  model: string | null
  device_hashes: readonly string[]
  /** From `props.install_referrer`. */
  referrer: ClickToken | null
  /** From `props.click_id`. */
  named_click: ClickToken | null
}

/** A click as `clicks_raw_v1` has it. */
export interface Click {
  click_id: string
  partner: string
  campaign: string
  link_id: string
  ext_click_id: string | null
  subs: readonly (string | null)[]
  clicked_at_ms: number
  place: Place
  filtered_reason: string | null
  /** Of its link; the window of the app where null. */
  lookback_ms: number | null
  ip: string
  os_major: number | null
  model: string | null
  device_hashes: readonly string[]
}

export interface Windows {
  deterministic_ms: number
  probabilistic_ms: number
  /** Matching by address and version is off on iOS by default. */
  probabilistic: boolean
}

/** Who has a click now: the install whose newest verdict it is. */
export interface Claim {
  installed_at_ms: number
  place: Place
}

export interface Candidate {
  click_id: string
  /** null for a click that is not there. */
  partner: string | null
  method: Method
  clicked_at_ms: number
  outcome: 'won' | 'lost'
  reason: LostReason | null
}

export interface Decision {
  /** null: organic, or pending. */
  click: Click | null
  method: Method | null
  /** A click id that we signed is not there yet: nothing is decided. */
  pending: boolean
  forged: boolean
  /** Best first. */
  candidates: Candidate[]
}

/** Earlier of two installs, or of two clicks: time, then place in the log. */
export const byTime = (a: { at_ms: number; place: Place }, b: { at_ms: number; place: Place }): number =>
  a.at_ms - b.at_ms || a.place.partition - b.place.partition || a.place.offset - b.place.offset
