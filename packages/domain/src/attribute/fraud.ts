import { type FraudFlag, fraudFlags } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import type { ClickChoice, InstallClues } from './verdict.ts'

/** A person needs longer from a click to the first start of an app. */
const fast_ms = 10_000
/** The number of SDK installs of one network in an hour that get no flag. */
export const burst_installs_max = 20

/** The evidence about an install besides its clicks. */
export interface FraudEvidence {
  is_sdk: boolean
  /** Play's server timestamps, Unix epoch seconds. */
  referrer_click_server_s: number | null
  install_begin_server_s: number | null
  /** The source of the won click flooded on the day of the click. */
  flooded: boolean
  datacenter: boolean
  /** A honeypot of the company was hit from the address in the 24 h before the install was received. */
  blocked: boolean
  /** SDK installs of the app from the same network, received in the hour up to this one and before it. */
  neighbours_before: number
  /** A device, a user or a click id of it is crowded. */
  crowded: boolean
}

/**
 * Flags of an install in the order of `fraudFlags` (docs/rules.md#fraud-flags). An install of a backend is flagged only
 * for a forged signature. Flagged installs still count.
 */
export function flagsOf(install: InstallClues, choice: ClickChoice, evidence: FraudEvidence): FraudFlag[] {
  const { is_sdk, referrer_click_server_s: click_s, install_begin_server_s: begin_s } = evidence
  const found: Record<FraudFlag, boolean> = {
    // Play gives 0 for an unknown time.
    click_after_install: is_sdk && click_s !== null && begin_s !== null && begin_s > 0 && click_s > begin_s,
    fast_install: is_sdk && choice.click !== null && install.installed_at_ms - choice.click.clicked_at_ms < fast_ms,
    click_flooding: is_sdk && choice.click !== null && evidence.flooded,
    datacenter_ip: is_sdk && evidence.datacenter,
    blocked_ip: is_sdk && evidence.blocked,
    forged_click: choice.forged,
    install_burst: is_sdk && evidence.neighbours_before >= burst_installs_max,
    crowded_device: is_sdk && evidence.crowded,
  }
  return fraudFlags.filter((flag) => found[flag])
}

/**
 * Whether a hit of a honeypot blocks its address when an install is received. A hit in the same millisecond counts as
 * earlier.
 */
export const isBlockedAt = (received_at_ms: number, hit_at_ms: number): boolean =>
  received_at_ms >= hit_at_ms && received_at_ms < hit_at_ms + limits.honeypot_block_ms

/** Clicks of a source on a UTC day that may attribute, and the new installs that they brought. */
export interface SourceDay {
  partner: string
  campaign: string | null
  clicks: number
  conversions: number
}

/** The name of a source of clicks on a UTC day (`YYYY-MM-DD`), among those of an app. */
export const sourceName = (of: { day: string; partner: string; campaign: string | null }): string =>
  `${of.day}/${of.partner}/${of.campaign ?? ''}`

/** Clicks of a day below which a source never floods. */
const flood_clicks_min = 1000
/** Clicks of a day below which a source does not count in the median. */
const median_clicks_min = 100
/** A source floods when its conversion is at most the median of the others divided by this. */
const flood_median_parts = 5n

/**
 * The sources of an app that flooded on a day (docs/rules.md#fraud-flags): they have many clicks, and far fewer of
 * these become installs than in the median of the other sources. A source without others does not flood.
 */
export const findFloods = <S extends SourceDay>(sources: readonly S[]): S[] => {
  const known = sources.filter(({ clicks }) => clicks >= median_clicks_min).toSorted(byConversion)
  return known.filter((source) => {
    const others = known.filter((other) => other !== source)
    return source.clicks >= flood_clicks_min && others.length > 0 && isFarBelow(source, middleOf(others))
  })
}

/** Compares exactly: twice the share of the source with the sum of the two shares in the middle. */
function isFarBelow(source: SourceDay, [a, b]: [SourceDay, SourceDay]): boolean {
  const [x, y, z] = [source, a, b].map(({ clicks, conversions }) => [BigInt(conversions), BigInt(clicks)] as const) as [
    readonly [bigint, bigint],
    readonly [bigint, bigint],
    readonly [bigint, bigint],
  ]
  return 2n * flood_median_parts * x[0] * y[1] * z[1] <= (y[0] * z[1] + z[0] * y[1]) * x[1]
}

const byConversion = (a: SourceDay, b: SourceDay): number => a.conversions * b.clicks - b.conversions * a.clicks

/** The two in the middle of sorted sources; of an odd number it is one and the same. */
function middleOf(sorted: readonly SourceDay[]): [SourceDay, SourceDay] {
  const middle = (sorted.length - 1) / 2
  return [sorted[Math.floor(middle)]!, sorted[Math.ceil(middle)]!]
}
