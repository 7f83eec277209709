import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { InstallReceipt, InstallRecord } from '@tributary/contracts/install-record'
import { limits } from '@tributary/contracts/limits'
import { moneyKey } from '@tributary/tables/settled/sql/money'

/** Texts of a table are empty where they are absent. */
type ReceiptRow = { [Field in keyof InstallReceipt]: NonNullable<InstallReceipt[Field]> | '' } & {
  judged_at_ms: number
}

/**
 * The newest verdicts on receipts of an install, in the order of event times, and whether there are earlier ones. `daysSql` selects the
 * days with events of the install.
 */
export async function findReceipts(
  clickhouse: Pick<Clickhouse, 'query'>,
  install: Pick<InstallRecord, 'app_id' | 'install_uuid'>,
  daysSql: string,
): Promise<Pick<InstallRecord, 'receipts' | 'receipts_cut'>> {
  const found = await clickhouse.query<ReceiptRow>(receiptsSql(daysSql), install)
  const newest = found.slice(0, limits.install_receipts_max)
  const receipts = newest.toReversed().map((row) => ({
    store: row.store || null,
    product_id: row.product_id || null,
    transaction_id: row.transaction_id || null,
    verdict: row.verdict as InstallReceipt['verdict'],
    reason: row.reason || null,
    price_source: row.price_source || null,
    judged_at_ms: row.judged_at_ms,
  }))
  return { receipts, ...(found.length > newest.length && { receipts_cut: true as const }) }
}

/** Money without a choice counts as the event states it, unless it was cancelled (docs/rules.md#receipts-and-money). */
const receiptsSql = (daysSql: string): string => {
  const ofInstall = `app_id = {app_id:String} AND install_uuid = {install_uuid:String} AND day IN (${daysSql})`
  return `
SELECT store, product_id, transaction_id, verdict, if(is_reused, 'reused', judged) AS reason,
  multiIf(is_chosen, chosen_source, has_money AND NOT is_cancelled, if(source = 'store', 'store', 'event'), '') AS price_source, judged_at_ms
FROM (
  SELECT ${moneyKey} AS key, source, store, product_id, transaction_id, verdict, reason AS judged, has_money, ts_ms, judged_at_ms,
    key IN (SELECT ${moneyKey} FROM revenue_cancelled_v1 WHERE ${ofInstall}) AS is_cancelled
  FROM receipts_v1 FINAL
  WHERE ${ofInstall}
) AS receipts
LEFT JOIN (
  SELECT ${moneyKey} AS key, 1 AS is_chosen, toString(price_source) AS chosen_source, reused = 1 AS is_reused
  FROM revenue_chosen_v1 FINAL
  WHERE ${ofInstall}
) AS chosen USING (key)
ORDER BY ts_ms DESC, judged_at_ms DESC, key
LIMIT ${limits.install_receipts_max + 1}`
}
