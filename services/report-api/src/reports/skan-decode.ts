import type { CoarseValue, CvVersion, SequenceIndex } from '@tributary/contracts/postback/cv-schema'
import type { PostbackProtocol } from '@tributary/contracts/postback/received'
import type { ReportRow } from '@tributary/contracts/reports'
import { decodeValue, postbackAges, versionAt } from '@tributary/domain/postback/cv-schema'

/** Postbacks of a row that have the same value, and were received while the same versions could decode them. */
export interface CountedValue {
  /** Version of SKAN. */
  version: string
  /** A time at which `versionAt` says the same as when they were received, Unix epoch ms. */
  received_at_ms: number
  fine: number | null
  coarse: CoarseValue | null
  postbacks: number
}

/** What the values of a row mean. */
export type DecodedRow = Pick<
  ReportRow<'skan'>,
  'fine' | 'revenue_min_usd' | 'revenue_max_usd' | 'schema_version' | 'schema_ambiguous'
>

/** Adds up what the values of a row mean, by the version that decodes each (docs/rules.md#version-that-decodes). */
export function decodeRow(
  versions: readonly CvVersion[],
  { protocol, sequence_index }: { protocol: PostbackProtocol; sequence_index: SequenceIndex },
  values: readonly CountedValue[],
): DecodedRow {
  const fine: Record<string, number> = Object.create(null)
  const used = new Set<number | null>()
  const micros = { min: 0n, max: 0n }
  let schema_ambiguous = false
  for (const value of values) {
    const { version: protocol_version, received_at_ms, postbacks } = value
    const { version, ambiguous } = versionAt(versions, {
      ...{ protocol, version: protocol_version, sequence_index, received_at_ms },
    })
    used.add(version)
    schema_ambiguous ||= ambiguous
    if (value.fine !== null) fine[value.fine] = (fine[value.fine] ?? 0) + postbacks
    const schema = versions.find((one) => one.version === version)?.schema
    const decoded = schema && decodeValue(schema, { sequence_index, fine: value.fine, coarse: value.coarse })
    micros.min += microsOf(decoded?.revenue_min_usd) * BigInt(postbacks)
    micros.max += microsOf(decoded?.revenue_max_usd) * BigInt(postbacks)
  }
  return {
    fine,
    revenue_min_usd: usd(micros.min),
    revenue_max_usd: usd(micros.max),
    schema_version: used.size === 1 ? [...used][0]! : null,
    schema_ambiguous,
  }
}

const microsOf = (amount: number | null | undefined): bigint => BigInt(Math.round((amount ?? 0) * 1e6))

/** USD with 4 places, halves away from 0; no band is negative. */
const usd = (micros: bigint): number => Number((micros + 50n) / 100n) / 1e4

/**
 * The times at which `versionAt` may begin to say something else, ascending and beginning with 0: a version is published, or
 * the oldest install that a postback allows is as new as a version.
 */
export function segmentStarts(versions: readonly Pick<CvVersion, 'published_at_ms'>[]): number[] {
  const times = versions.flatMap(({ published_at_ms }) => [0, ...postbackAges].map((age) => published_at_ms + age))
  return [...new Set([0, ...times])].toSorted((a, b) => a - b)
}
