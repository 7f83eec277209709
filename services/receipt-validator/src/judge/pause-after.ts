import { limits } from '@tributary/contracts/limits'
import type { JudgedReceipt } from '@tributary/contracts/receipt/judged-receipt'
import type { Store } from '@tributary/contracts/receipt/receipt'
import type { TakenReceipt } from '@tributary/tables/receipts/due-receipts'

/** Without credentials, and while a payment is pending, the pauses are longer: nothing changes by itself in a minute. */
const patient_ms_min = 60_000
const patient_ms_max = 3_600_000

/**
 * Until a receipt is judged again, in milliseconds; null when its verdict is final: what is not `unverified`, and all after 72 hours
 * (docs/rules.md#receipts-and-money).
 */
export function pauseAfter(
  { tries, left_ms }: Pick<TakenReceipt, 'tries' | 'left_ms'>,
  { verdict, reason, store }: Pick<JudgedReceipt, 'verdict' | 'reason' | 'store'>,
  resting: ReadonlyMap<Store, number>,
): number | null {
  if (verdict !== 'unverified' || left_ms <= 0) return null
  const is_away = reason === 'store_away'
  const [from_ms, to_ms] = is_away
    ? [limits.receipt_retry_ms_min, limits.receipt_retry_ms_max]
    : [patient_ms_min, patient_ms_max]
  const doubled_ms = Math.min(from_ms * 2 ** Math.min(tries - 1, 20), to_ms)
  const rest_ms = is_away && store !== null ? (resting.get(store) ?? 0) : 0
  return Math.min(Math.max(doubled_ms, rest_ms), left_ms)
}
