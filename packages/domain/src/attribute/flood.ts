/** Clicks of a source on a UTC day that may attribute, and the new installs that they brought. */
export interface SourceDay {
  partner: string
  campaign: string | null
  clicks: number
  conversions: number
}

/** Clicks of a day below which a source never floods. */
const flood_clicks_min = 1000
/** Clicks of a day below which a source says nothing about the others. */
const median_clicks_min = 100
/** A source floods when its conversion is at most one part of so many of the median of the others. */
const flood_median_parts = 5n

/**
 * Which sources of an app flooded on a day (docs/rules.md#fraud-flags): many clicks, few of which become installs, measured
 * by the median of the other sources. A source without others does not flood.
 */
export const findFloods = <S extends SourceDay>(sources: readonly S[]): S[] => {
  const known = sources.filter(({ clicks }) => clicks >= median_clicks_min).toSorted(byConversion)
  return known.filter((source) => {
    const others = known.filter((other) => other !== source)
    return source.clicks >= flood_clicks_min && others.length > 0 && isFarBelow(source, middleOf(others))
  })
}

/** Exact: twice the share of the source against the sum of the two in the middle. */
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
