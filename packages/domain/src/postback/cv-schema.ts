import { hour_ms } from '@tributary/contracts/limits'
import {
  type CoarseBand,
  type CoarseValue,
  type CvSchema,
  type CvVersion,
  type FineBand,
  type SequenceIndex,
  sequenceIndexes,
  windowHours,
} from '@tributary/contracts/postback/cv-schema'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'

/** The meaning of a conversion value. Revenue is null for a value without revenue; the open highest band has its min twice. */
export interface DecodedValue {
  name: string
  event_name: string | null
  revenue_min_usd: number | null
  revenue_max_usd: number | null
}

/** A conversion value as a postback brings it: a missing one is null. */
export interface ConversionValue {
  sequence_index: SequenceIndex
  fine: number | null
  coarse: CoarseValue | null
}

/** The meaning of a value, or null when the schema has none for it. The fine value decides if there is one. */
export function decodeValue(
  { postbacks }: Pick<CvSchema, 'postbacks'>,
  { sequence_index, fine, coarse }: ConversionValue,
): DecodedValue | null {
  const lists = postbacks.find((one) => one.postback_sequence_index === sequence_index)
  const bands: readonly (FineBand | CoarseBand)[] = (fine === null ? lists?.coarse : lists?.fine) ?? []
  const band = bands.find(({ value }) => value === (fine ?? coarse))
  if (band === undefined) return null
  const { name, event_name = null, revenue_min_usd: min = null, revenue_max_usd: max = null } = band
  return { name, event_name, revenue_min_usd: min, revenue_max_usd: max ?? min }
}

/** The fields that bound the age of the install of a postback. */
export interface PostbackTime {
  protocol: PostbackProtocol
  /** Version of the postback's protocol, such as `4.0`. */
  version: string
  sequence_index: SequenceIndex
  received_at_ms: number
}

/**
 * The version that decodes a postback: the one that was live at the earliest install time that the postback allows,
 * null when none was. `ambiguous`: another version was published after that time and until receipt
 * (docs/rules.md#version-that-decodes).
 */
export function versionAt(
  versions: readonly Pick<CvVersion, 'version' | 'published_at_ms'>[],
  postback: PostbackTime,
): { version: number | null; ambiguous: boolean } {
  const { received_at_ms } = postback
  const earliest_ms = received_at_ms - ageMax(postback)
  let version: number | null = null
  let ambiguous = false
  for (const { version: published, published_at_ms } of versions) {
    if (published_at_ms <= earliest_ms) version = Math.max(version ?? 0, published)
    else if (published_at_ms <= received_at_ms) ambiguous = true
  }
  return { version, ambiguous }
}

/** Longest delay after the window, hours, of 4.0 and AAK (Apple, "Receiving postbacks in multiple conversion windows"). */
const delayHours = { 0: 48, 1: 144, 2: 144 } as const satisfies Record<SequenceIndex, number>

/** Before 4.0 each value may prolong its timer of 24 hours, through 64 values at most. */
const legacy_hours = 64 * 24 + 24

/** How old the install of a postback may be when it comes, ms. These are Apple's numbers, never those of a schema. */
export function ageMax({ protocol, version, sequence_index }: Omit<PostbackTime, 'received_at_ms'>): number {
  const has_windows = protocol === 'aak' || Number.parseInt(version, 10) >= 4
  const hours = has_windows ? windowHours[sequence_index] + delayHours[sequence_index] : legacy_hours
  return hours * hour_ms
}

/** Each value of `ageMax`, ms. */
export const postbackAges: readonly number[] = [
  ageMax({ protocol: 'skan', version: '3.0', sequence_index: 0 }),
  ...sequenceIndexes.map((sequence_index) => ageMax({ protocol: 'aak', version: '', sequence_index })),
]
