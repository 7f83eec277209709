import { day_ms, limits } from '@tributary/contracts/limits'

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

/** The counter of the bytes of a company's request bodies of one month, up to `bodyBytesMax`. */
export const bodyBytesKey = (company_id: string, at_ms: number): string => `bytes:{${company_id}}:${monthOf(at_ms)}`

/** Bytes of request bodies that a company may have stored in a month; null is unlimited. */
export const bodyBytesMax = (monthly_quota: number | null): number | null =>
  monthly_quota === null ? null : Math.max(limits.quota_bytes_min, monthly_quota * limits.quota_event_bytes)
