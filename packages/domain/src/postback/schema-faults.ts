import {
  type CoarseBand,
  type CvSchema,
  type FineBand,
  type SequenceIndex,
  windowHours,
} from '@tributary/contracts/postback/cv-schema'

/** A rule that a schema breaks. */
export interface SchemaFault {
  /** Where it is, such as `postbacks.0.fine.3.value`. */
  path: string
  /** The rule, with the sequence index and the value that break it. */
  message: string
}

type Postbacks = CvSchema['postbacks']

/** The faults between parts of a schema, when each part by itself is right (docs/rules.md#conversion-value-schema). */
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

/**
 * A band is `[min, max)`, and a band without max has no end. So each band must end where the next one begins, or
 * before.
 */
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
