/** Coarse values, the smallest first. */
export const coarseValues = ['low', 'medium', 'high'] as const

/** The meaning of a conversion value: revenue from min to below max, an event, or both. */
interface Band<Value> {
  value: Value
  name: string
  revenue_min_usd?: number | null | undefined
  /** Without it the band has no end. */
  revenue_max_usd?: number | null | undefined
  event_name?: string | null | undefined
}

/** The conversion values of one conversion window. */
export interface CvPostback {
  postback_sequence_index: 0 | 1 | 2
  fine?: readonly Band<number>[] | undefined
  coarse?: readonly Band<(typeof coarseValues)[number]>[] | undefined
  /** The first value ends the window. */
  lock_window?: boolean | undefined
}

/** `schema` in the answer of `GET /skan/cv-schema`, as far as a client reads it. */
export interface CvSchema {
  postbacks: readonly CvPostback[]
}

interface Done {
  names: ReadonlySet<string>
  revenue_usd: number
}

/** The value of the highest band that holds, null when none does. */
export function bandOf<Value>(bands: readonly Band<Value>[], done: Done, rank: (value: Value) => number): Value | null {
  const values = bands.filter((band) => holds(band, done)).map(({ value }) => value)
  return values.reduce<Value | null>((best, one) => (best === null || rank(one) > rank(best) ? one : best), null)
}

/** A band without revenue and event holds always: it says that the app was opened. */
function holds<Value>(band: Band<Value>, { names, revenue_usd }: Done): boolean {
  const { revenue_min_usd: min, revenue_max_usd: max, event_name } = band
  if (event_name != null && !names.has(event_name)) return false
  return min == null || (revenue_usd >= min && (max == null || revenue_usd < max))
}
