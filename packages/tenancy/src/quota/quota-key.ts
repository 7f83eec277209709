import { day_ms } from '@tributary/contracts/limits'

/** How long a month is kept after its end, so that its use can be requested. */
export const quota_kept_ms = 35 * day_ms

/** `yyyy-mm` in UTC. */
export const monthOf = (at_ms: number): string => new Date(at_ms).toISOString().slice(0, 7)

/** First millisecond of the UTC month. */
export function monthStartMs(at_ms: number): number {
  const at = new Date(at_ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

/** First millisecond of the next UTC month. */
export function monthEndMs(at_ms: number): number {
  const at = new Date(at_ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
}

/** The counter of a company's accepted events of one month; braces keep a company on one slot of a Redis cluster. */
export const quotaKey = (company_id: string, at_ms: number): string => `quota:{${company_id}}:${monthOf(at_ms)}`

/** The counter of a company's rejected events of one month, which may be as many as its quota. */
export const rejectedKey = (company_id: string, at_ms: number): string => `rejected:{${company_id}}:${monthOf(at_ms)}`
