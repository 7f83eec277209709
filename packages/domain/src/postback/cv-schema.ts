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

export interface SchemaFault {
  /** Where it is, such as `postbacks.0.fine.3.value`. */
  path: string
  /** The rule, with the sequence index and the value that break it. */
  message: string
}

type Postbacks = CvSchema['postbacks']

/** What is wrong between the parts of a schema whose parts are each right (docs/rules.md#conversion-value-schema). */
export function findSchemaFaults({ postbacks }: { postbacks: Postbacks }): SchemaFault[] {
  return [
    ...findTwice(
      postbacks.map(({ postback_sequence_index: index }) => index),
      (n, index) => ({
        path: `postbacks.${n}.postback_sequence_index`,
        message: `Sequence index ${index} is there twice.`,
      }),
    ),
    ...postbacks.flatMap(({ postback_sequence_index: index, window_hours, fine, coarse }, n) => [
      ...(window_hours === windowHours[index] ? [] : [wrongWindow(n, index)]),
      ...findBandFaults(fine, { path: `postbacks.${n}.fine`, where: `sequence index ${index}`, kind: 'Fine' }),
      ...findBandFaults(coarse, { path: `postbacks.${n}.coarse`, where: `sequence index ${index}`, kind: 'Coarse' }),
    ]),
  ]
}

const wrongWindow = (n: number, index: SequenceIndex): SchemaFault => ({
  path: `postbacks.${n}.window_hours`,
  message: `The window of sequence index ${index} ends ${windowHours[index]} hours after the install.`,
})

const findTwice = <T>(all: readonly T[], fault: (n: number, one: T) => SchemaFault): SchemaFault[] =>
  all.flatMap((one, n) => (all.indexOf(one) < n ? [fault(n, one)] : []))

interface BandList {
  path: string
  where: string
  kind: 'Fine' | 'Coarse'
}

function findBandFaults(bands: readonly (FineBand | CoarseBand)[], { path, where, kind }: BandList): SchemaFault[] {
  const nameOf = (n: number) => `${kind} value ${bands[n]!.value} of ${where}`
  const twice = findTwice(
    bands.map(({ value }) => value),
    (n) => ({ path: `${path}.${n}.value`, message: `${nameOf(n)} is there twice.` }),
  )
  const wrong = bands.flatMap(({ revenue_min_usd: min, revenue_max_usd: max }, n): SchemaFault[] => {
    if (max == null) return []
    if (min == null) return [{ path: `${path}.${n}.revenue_min_usd`, message: `${nameOf(n)} has a max and no min.` }]
    if (min < max) return []
    return [{ path: `${path}.${n}.revenue_max_usd`, message: `The max of ${nameOf(n)} must be above its min.` }]
  })
  return [...twice, ...wrong, ...(wrong.length > 0 ? [] : findOverlaps(bands, path, nameOf))]
}

/** Bands are `[min, max)` and those without max have no end, so each must end where the next one begins, or before. */
function findOverlaps(
  bands: readonly (FineBand | CoarseBand)[],
  path: string,
  nameOf: (n: number) => string,
): SchemaFault[] {
  const byMin = bands
    .map(({ revenue_min_usd: min, revenue_max_usd: max }, n) => ({ n, min, max: max ?? Number.POSITIVE_INFINITY }))
    .filter((band): band is { n: number; min: number; max: number } => band.min != null)
    .toSorted((a, b) => a.min - b.min || a.max - b.max)
  return byMin.flatMap(({ n, max }, rank) => {
    const next = byMin[rank + 1]
    if (next === undefined || max <= next.min) return []
    const isOpen = max === Number.POSITIVE_INFINITY
    return isOpen
      ? [
          {
            path: `${path}.${n}.revenue_max_usd`,
            message: `${nameOf(n)} needs a max: only the highest band may lack it.`,
          },
        ]
      : [{ path: `${path}.${next.n}.revenue_min_usd`, message: `${nameOf(next.n)} overlaps ${nameOf(n)}.` }]
  })
}

/** What a conversion value stands for. Revenue is null for a value without revenue; the open highest band has its min twice. */
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

/** The meaning of a value, or null when the schema says nothing of it. The fine value decides where there is one. */
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

/** What tells how old the install of a postback may be. */
export interface PostbackTime {
  protocol: PostbackProtocol
  /** Version of the postback's protocol, such as `4.0`. */
  version: string
  sequence_index: SequenceIndex
  received_at_ms: number
}

/**
 * The version that decodes a postback: the one that was live at the earliest install time that the postback allows, null
 * when none was. `ambiguous`: another one was published after that and until receipt (docs/rules.md#version-that-decodes).
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
