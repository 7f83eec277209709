import { textLiterals } from '@tributary/clickhouse/literals'
import { refundEvents, revenueRowColumns } from '@tributary/contracts/rows'
import { placeColumns } from './event-places.ts'
import { claims_max } from './find-claims.ts'

const ofMoney = revenueRowColumns.join(', ')
const place = `app_id, ${placeColumns()}`
const cancelSql = (places: string): string =>
  `INSERT INTO revenue_cancelled_v1 (${ofMoney}) SELECT ${ofMoney} FROM revenue_raw_v1 WHERE (${place}) IN (${places})`

/** What receipts decide on: no claim tells that, since each such event has a transaction key of its own. */
const chosen = `SELECT ${place} FROM revenue_chosen_v1 FINAL`

/** Claims of which there may be more than choices look at. */
const crowded = `
  SELECT app_id, claim_key FROM transaction_claims_v1
  WHERE (app_id, claim_key) IN (SELECT app_id, claim_key FROM transaction_claims_v1 GROUP BY app_id, claim_key HAVING count() >= ${claims_max})
  GROUP BY app_id, claim_key HAVING uniqExact(${placeColumns()}) >= ${claims_max}`

/** `isConfirmed` of a claim with a receipt, as SQL. */
const isConfirmed = `has_money = 1 AND (
  (source = 'store' AND verdict IN ('valid', 'unverified'))
  OR (verdict = 'valid' AND (taken_back_ms > 0 OR event_name NOT IN (${textLiterals(refundEvents)}))))`

/** The keys among those on which a store confirmed a claim, as charge or as refund. */
const confirmed = `
  SELECT app_id, claim_key FROM (
    SELECT app_id, arrayJoin([sipHash64('charge', id), sipHash64('refund', id)]) AS claim_key FROM (
      SELECT app_id, if(verdict = 'valid', transaction_id, stated_id) AS id FROM receipts_v1 FINAL WHERE ${isConfirmed})
    WHERE notEmpty(id))
  WHERE (app_id, claim_key) IN (${crowded})`

/** Statements that cancel again what receipts decide on, once `revenue_cancelled_v1` was emptied. The choices themselves are there. */
export const cancelAgainSql: readonly string[] = [
  cancelSql(chosen),
  cancelSql(`SELECT ${place} FROM transaction_claims_v1 WHERE (app_id, claim_key) IN (${confirmed})`),
]
