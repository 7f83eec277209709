import type { Family } from '../address.ts'

/** What a database tells of a range: a country code, or the number of the network that announces it. */
export interface SourceRange {
  family: Family
  /** Numbers as in `NumberedAddress`; both belong to the range. */
  first: bigint
  last: bigint
  found: { country: string } | { asn: number }
}

/** A database that can't be used; the message says why. */
export class BadGeoFile extends Error {
  override name = 'BadGeoFile'
}
